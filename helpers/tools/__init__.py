"""The commands behind the Makefile: set-up, JupyterLab, refreshing and replaying notebooks."""
