"""The vocabulary, ids and batches, the two texts, and what is said of bad ones."""

import re
import subprocess
import sys
from collections import Counter

import pytest
import torch

from helpers.text import (
    DATA,
    SCENE,
    SHAKESPEARE,
    Text,
    batch,
    decode,
    encode,
    load_scene,
    load_shakespeare,
    split,
    tokens,
    vocabulary,
    windows,
)

B, T = 4, 8


@pytest.fixture(scope="module")
def scene():
    return load_scene()


def seeded(seed=7):
    return torch.Generator().manual_seed(seed)


# The vocabulary


def test_vocabulary_is_the_65_characters_sorted():
    assert len(vocabulary) == len(set(vocabulary)) == 65
    assert list(vocabulary) == sorted(vocabulary)
    assert vocabulary.startswith("\n !$&',-.3:;?AB") and vocabulary.endswith("xyz")


def test_the_module_does_not_import_torch():
    code = "import sys, helpers.text; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=DATA.parent).returncode == 0


# encode and decode


def test_encode_gives_places_in_the_vocabulary():
    ids = encode("\n Ay")
    assert ids.dtype == torch.long and ids.tolist() == [0, 1, 13, 63]


@pytest.mark.parametrize("text", ["", "A", "Ay, good", vocabulary])
def test_decode_undoes_encode(text):
    assert encode(text).shape == (len(text),)
    assert decode(encode(text)) == text


@pytest.mark.parametrize(
    "ids",
    [
        [13, 63, 6],
        (13, 63, 6),
        torch.tensor([13, 63, 6], dtype=torch.uint8),
        torch.tensor([13, 0, 63, 0, 6, 0])[::2],
        [torch.tensor(13), torch.tensor(63), torch.tensor(6)],
    ],
)
def test_decode_takes_lists_and_tensors(ids):
    assert decode(ids) == "Ay,"


@pytest.mark.parametrize("one", [13, torch.tensor(13)])
def test_decode_takes_a_single_id(one):
    assert decode(one) == "A"


@pytest.mark.parametrize("none", [[], torch.tensor([]), torch.zeros(0, dtype=torch.long)])
def test_decode_of_nothing(none):
    assert decode(none) == ""


def test_encode_says_which_characters_and_where():
    with pytest.raises(ValueError, match=r"'é' \(U\+00E9\) at position 3, '\\t' at position 5"):
        encode("Caf\u00e9 \t!")


def test_encode_shows_the_first_few_of_many():
    with pytest.raises(ValueError, match=r"position 0, .*position 4 and 95 more$"):
        encode("7" * 100)


def test_encode_recognises_crlf():
    with pytest.raises(ValueError, match=r"'\\r' at position 3; the line ends look like CRLF"):
        encode("Ay,\r\n")


@pytest.mark.parametrize("notext", [None, 3, b"Ay", ["A", "y"], torch.tensor([1])])
def test_encode_takes_only_str(notext):
    with pytest.raises(TypeError, match="takes a str, got " + type(notext).__name__):
        encode(notext)


@pytest.mark.parametrize(
    ("ids", "error", "says"),
    [
        ([3, 65, -1], ValueError, "from 0 to 64, got 65 at position 1, -1 at position 2"),
        (torch.zeros(4, 8, dtype=torch.long), ValueError, r"got \(4, 8\): choose one"),
        (torch.zeros(4, 0, dtype=torch.long), ValueError, r"got \(4, 0\)"),
        ([1.0, 2.0], TypeError, "whole numbers, got torch.float32"),
        (torch.tensor([1.0, torch.nan]), TypeError, "got torch.float32"),
        (torch.ones(3, dtype=torch.bfloat16, requires_grad=True), TypeError, "got torch.bfloat16"),
        (torch.tensor([True]), TypeError, "got torch.bool"),
        (torch.zeros(3, dtype=torch.long, device="meta"), ValueError, "'meta'"),
        ("Ay", TypeError, "got a str: encode it first"),
        (["A", "y"], TypeError, "got list"),
        ([[1, 2], [3]], TypeError, "got list"),
        (None, TypeError, "got NoneType"),
    ],
)
def test_decode_refuses(ids, error, says):
    with pytest.raises(error, match=says):
        decode(ids)


def test_tokens_make_newline_and_space_visible():
    assert tokens("Ay, \n$") == ["A", "y", ",", "␣", "↵", "$"]
    assert all(len(token) == 1 and token.isprintable() for token in tokens(vocabulary))


def test_tokens_take_text():
    with pytest.raises(TypeError, match="decode the ids first"):
        tokens(torch.tensor([1]))


# Batches


def test_batch_has_each_target_one_place_further_on():
    ids = torch.arange(50)
    x, y = batch(ids, B, T, seeded())
    assert x.shape == y.shape == (B, T)
    assert x.dtype == y.dtype == torch.long
    assert torch.equal(y, x + 1)
    assert torch.equal(x, x[:, :1] + torch.arange(T))


def test_batch_is_drawn_from_its_generator_alone(scene):
    ids = encode(scene)
    first = batch(ids, B, T, seeded())
    state = torch.get_rng_state()
    assert torch.equal(first[0], batch(ids, B, T, seeded())[0])
    assert torch.equal(state, torch.get_rng_state())
    generator = seeded()
    assert not torch.equal(batch(ids, B, T, generator)[0], batch(ids, B, T, generator)[0])


def test_batch_reaches_both_ends_of_the_text():
    x, y = batch(torch.arange(T + 3), 400, T, seeded())
    assert set(x[:, 0].tolist()) == {0, 1, 2} and y.max() == T + 2


def test_batch_of_the_shortest_text():
    x, y = batch(torch.arange(T + 1), B, T, seeded())
    assert x.tolist() == [list(range(T))] * B and y.tolist() == [list(range(1, T + 1))] * B


@pytest.mark.parametrize(
    ("ids", "sizes", "error", "says"),
    [
        (torch.arange(T), (B, T), ValueError, "takes 9 characters, the text has 8"),
        (torch.arange(0), (B, T), ValueError, "the text has 0"),
        (torch.zeros(4, 90, dtype=torch.long), (B, T), ValueError, r"\(N,\), got \(4, 90\)"),
        (torch.zeros(90), (B, T), TypeError, "whole numbers, got torch.float32"),
        ("Ay, good and thick", (B, T), TypeError, "encode it first"),
        (torch.arange(90), (0, T), ValueError, "B must be a whole number from 1 on, got 0"),
        (torch.arange(90), (B, -1), ValueError, "T must be a whole number from 1 on, got -1"),
        (torch.arange(90), (B, 8.0), ValueError, "T must be a whole number from 1 on, got 8.0"),
    ],
)
def test_batch_refuses(ids, sizes, error, says):
    with pytest.raises(error, match=says):
        batch(ids, *sizes, seeded())


@pytest.mark.parametrize("generator", [None, 1337])
def test_batch_needs_a_generator(generator):
    with pytest.raises(TypeError, match="needs a torch.Generator, got .*manual_seed"):
        batch(torch.arange(90), B, T, generator)


def test_windows_begin_where_they_are_told(scene):
    x, y = windows(encode(scene), [6, 0], T)
    assert [decode(row) for row in x] == ["Ay, good", "PELL:\nAy"]
    assert [decode(row) for row in y] == ["y, good ", "ELL:\nAy,"]
    tensor = windows(encode(scene), torch.tensor([6, 0]), T)[0]
    assert torch.equal(x, tensor)


@pytest.mark.parametrize(
    ("starts", "error", "says"),
    [
        ([0, 2, -1], ValueError, "may begin at 0 to 1 in a text of 10 characters, got 2, -1"),
        ([], ValueError, r"starts must be \(B,\), got \(0,\)"),
        (3, ValueError, r"starts must be \(B,\), got \(\)"),
        ([0.5], TypeError, "whole numbers"),
    ],
)
def test_windows_refuse(starts, error, says):
    with pytest.raises(error, match=says):
        windows(torch.arange(10), starts, T)


def test_split_is_nine_to_one():
    train, held_out = split(torch.arange(100))
    assert torch.equal(torch.cat([train, held_out]), torch.arange(100)) and len(train) == 90
    assert [len(part) for part in split(torch.zeros(1_115_394, dtype=torch.long))] == [
        1_003_854,
        111_540,
    ]


def test_split_refuses():
    with pytest.raises(ValueError, match="at least 2 characters, got 1"):
        split(torch.arange(1))
    with pytest.raises(ValueError, match=r"got \(4, 8\)"):
        split(torch.zeros(4, 8, dtype=torch.long))


# The scene


def test_scene_is_laid_out_like_tiny_shakespeare(scene):
    assert len(scene) >= 20_000
    assert set(scene) == set(vocabulary)
    assert scene.endswith(".\n") and not scene.endswith("\n\n")
    speeches = scene.removesuffix("\n").split("\n\n")
    for speech in speeches:
        speaker, *lines = speech.split("\n")
        assert re.fullmatch(r"[A-Z]+:", speaker), speech
        assert lines and all(line == line.strip() != "" for line in lines), speech
    speakers = {speech.split(":")[0] for speech in speeches}
    assert 4 <= len(speakers) <= 6


def test_scene_has_the_line_of_the_running_tensor(scene):
    assert scene[6:14] == "Ay, good" and scene[5] == "\n"


def test_scene_is_no_loop(scene):
    lines = [line for line in scene.split("\n") if line and not line.endswith(":")]
    assert max(Counter(lines).values()) == 1
    grams = {n: Counter(scene[i : i + n] for i in range(len(scene) - n + 1)) for n in (3, 20)}
    assert len(grams[3]) > 2_500 and grams[3].most_common(1)[0][1] < len(scene) / 50
    assert len(grams[20]) > 0.97 * len(scene)


# Files


def test_scene_is_the_file_of_the_course():
    assert SCENE.fault((DATA / SCENE.name).read_bytes()) == ""
    assert SCENE.size == (DATA / SCENE.name).stat().st_size


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda b: b[:5000],
            rf"expected {SCENE.size:,} .*found 5,000 .* {SCENE.size - 5000:,} bytes are missing",
        ),
        (lambda b: b"", r"found 0 with"),
        (
            lambda b: b.replace(b"Ay, good", b"Ay, goof"),
            rf"found {SCENE.size:,} with [0-9a-f]{{12}}…; bring",
        ),
        (lambda b: b.replace(b"\n", b"\r\n"), r"found 23,\d\d\d .*line ends .* CRLF; bring"),
        (lambda b: b[:-9].replace(b"\n", b"\r\n"), "converted to CRLF, and that is not all"),
        (lambda b: b"<!DOCTYPE html>", "looks like a web page"),
        (lambda b: b"\xff\xfe" + b, rf"found {SCENE.size + 2:,} with [0-9a-f]{{12}}…; bring"),
    ],
)
def test_a_damaged_scene_says_expected_and_found(tmp_path, change, says):
    (tmp_path / SCENE.name).write_bytes(change((DATA / SCENE.name).read_bytes()))
    with pytest.raises(ValueError, match=says):
        load_scene(tmp_path)


def test_a_missing_scene_says_how_to_bring_it_back(tmp_path):
    for load in (load_scene, load_shakespeare):
        with pytest.raises(FileNotFoundError, match="scene.txt; bring it back with `git checkout"):
            load(tmp_path)


def test_the_scene_stands_in_and_says_so(tmp_path, scene):
    (tmp_path / SCENE.name).write_bytes((DATA / SCENE.name).read_bytes())
    text = load_shakespeare(tmp_path)
    assert text == Text("the scene, standing in for tiny-Shakespeare", scene)
    assert repr(text) == f"{text.name}: {len(scene):,} characters"


@pytest.mark.parametrize("content", [b"", b"First Citizen:\nBefore we proceed", b"<html>"])
def test_a_damaged_tiny_shakespeare_is_not_replaced_in_silence(tmp_path, content):
    (tmp_path / SCENE.name).write_bytes((DATA / SCENE.name).read_bytes())
    (tmp_path / SHAKESPEARE.name).write_bytes(content)
    with pytest.raises(ValueError, match="expected 1,115,394 bytes with SHA-256 86c4e6aa9db7"):
        load_shakespeare(tmp_path)


@pytest.mark.skipif(not (DATA / SHAKESPEARE.name).exists(), reason="needs `make data`")
def test_tiny_shakespeare():
    text = load_shakespeare()
    assert text.name == "tiny-Shakespeare"
    assert repr(text) == "tiny-Shakespeare: 1,115,394 characters"
    assert "".join(sorted(set(text.characters))) == vocabulary
    assert decode(encode(text.characters)) == text.characters
