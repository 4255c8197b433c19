"""What all explorers share: controls, a line of words and a live picture, and what is stored.

An explorer computes and draws without any widget: `state`, `drawn` and `picture` take its
settings. The widgets are made when it is first shown.
"""

from itertools import count

from helpers.explorers.drawing import EM, escaped

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_NUMBER = count()

# Widgets are as large as Lab's menus, also in a presentation: here they follow the text.
_STYLE = """
.explorer { --jp-widgets-font-size: var(--jp-content-font-size1);
  --jp-widgets-inline-height: 2.1em; --jp-widgets-inline-width-short: 6em;
  font-size: var(--jp-content-font-size1); overflow: hidden; }
.explorer .widget-label { width: auto; min-width: 4.5em; }
.explorer .widget-readout { min-width: 3em; }
.explorer .widget-html-content { font-size: var(--jp-content-font-size1); line-height: 1.35; }
.explorer .explorer-state { min-height: 2.9em; margin: 2px; }
.explorer .noUi-handle:focus-visible, .explorer input:focus-visible,
.explorer select:focus-visible { outline: 3px solid #c2500a; outline-offset: 1px; }
"""

# The sliders of ipywidgets have a label beside them and no name for a screen reader; a change of
# their range makes them anew. Lab would take the arrow keys of a menu to mean another cell.
_NAMES = """
(function named(image, tries) {
  const box = image.closest('.explorer');
  if (!box) { if (tries) setTimeout(named, 50, image, tries - 1); return; }
  box.setAttribute('role', 'group');
  box.setAttribute('aria-label', image.dataset.name);
  const set = () => {
    for (const control of box.querySelectorAll('input, select, .noUi-handle, .widget-readout'))
      control.setAttribute('data-lm-suppress-shortcuts', 'true');
    for (const state of box.querySelectorAll('.explorer-state'))
      state.setAttribute('aria-live', 'polite');
    for (const slider of box.querySelectorAll('.widget-slider, .widget-hslider, .widget-vslider')) {
      const label = slider.querySelector('.widget-label');
      const readout = slider.querySelector('.widget-readout');
      const value = readout ? readout.textContent : '';
      for (const handle of slider.querySelectorAll('.noUi-handle')) {
        if (!label) continue;
        handle.setAttribute('aria-label', label.textContent);
        if (value) handle.setAttribute('aria-valuetext', value);
      }
      if (readout && label) {
        readout.setAttribute('aria-label', label.textContent + ', typed');
        if (readout.isContentEditable) readout.setAttribute('role', 'textbox');
      }
    }
  };
  new MutationObserver(set).observe(box, {childList: true, subtree: true});
  set();
})(this, 100)
"""
_NOTHING = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


class Explorer:
    """Controls that redraw a picture, in a notebook; a stored picture wherever there is no kernel.

    settings  what the controls say, by name

    What a particular explorer adds: NAME and HIGH (units of its live picture), SETTINGS to begin
    with, and the methods marked below.
    """

    NAME, HIGH, SETTINGS = "", 0, {}

    def __init__(self):
        self.settings = dict(self.SETTINGS)
        self.pattern = f"explorer-{next(_NUMBER)}"
        self._box = None

    # ---------------------------------------- each explorer's own
    def controls(self):
        """Widgets by the name of their setting, and rows of names that say where they stand."""
        raise NotImplementedError

    def settled(self, settings, controls):
        """Settings that go together; may change what the controls allow or show."""
        return settings

    def state(self, **settings):
        """The numbers on show, in a line or two of plain words."""
        raise NotImplementedError

    def drawn(self, **settings):
        """The live picture, a string of SVG."""
        raise NotImplementedError

    def picture(self):
        """The Picture that a notebook stores."""
        raise NotImplementedError

    # ---------------------------------------- shown
    @property
    def box(self):
        """The widgets, made on first use."""
        if self._box is None:
            self._box = self._made()
        return self._box

    def _made(self):
        import ipywidgets as widgets

        self._controls, rows = self.controls()
        self._moving = False
        self.words = widgets.HTML()
        self.words.add_class("explorer-state")
        self.view = widgets.HTML(
            # Its height is known before the first picture is there.
            layout=widgets.Layout(min_height=f"{self.HIGH / EM:.4g}em", margin="2px 0")
        )
        head = widgets.HTML(
            f"<style>{_STYLE}</style>"
            f'<img alt="" width="0" height="0" data-name="{escaped(self.NAME)}" '
            f'src="{_NOTHING}" onload="{escaped(_NAMES)}">',
            layout=widgets.Layout(height="0", margin="0"),
        )
        lines = [
            widgets.Box(
                [self._controls[name] for name in row],
                layout=widgets.Layout(flex_flow="row wrap", align_items="center"),
            )
            for row in rows
        ]
        box = widgets.VBox([head, *lines, self.words, self.view])
        box.add_class("explorer")
        for control in self._controls.values():
            control.observe(self._moved, "value")
        self._moved(None)
        return box

    def _moved(self, change):
        """Read the controls, and redraw once, whatever reading them changes in them."""
        if self._moving:
            return
        self._moving = True
        try:
            found = {name: control.value for name, control in self._controls.items()}
            self.settings = self.settled(found, self._controls)
            self.words.value = self._paragraph()
            self.view.value = self.drawn(**self.settings)
        finally:
            self._moving = False

    def _paragraph(self):
        return escaped(self.state(**self.settings))

    def _repr_mimebundle_(self, include=None, exclude=None):
        stored = self.picture()._repr_mimebundle_()
        view = self.box._repr_mimebundle_()
        return {WIDGET_VIEW: view[WIDGET_VIEW], **stored}

    def __repr__(self):
        return repr(self.picture())
