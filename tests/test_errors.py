from __future__ import annotations

import pytest

from mvgrl.errors import InputError, MVGRLError, SettingsError, check_name


@pytest.mark.parametrize(
    ("name", "known", "message"),
    [
        ("jds", ("jsd", "nce"), "unknown bound 'jds'; did you mean 'jsd'? Choose one of 'jsd', 'nce'"),
        ("JSD", ("jsd", "nce"), "unknown bound 'JSD'; did you mean 'jsd'? Choose one of 'jsd', 'nce'"),
        ("zzz", ("jsd", "nce"), "unknown bound 'zzz'; choose one of 'jsd', 'nce'"),
        (["jsd"], ("jsd",), "unknown bound ['jsd']; did you mean 'jsd'? Choose one of 'jsd'"),
        ("jsd", (), "unknown bound 'jsd'; there are none to choose from"),
    ],
)
def test_an_unknown_name_is_rejected_with_the_choices(name: object, known: tuple[str, ...], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_name("bound", name, known)
    assert str(caught.value) == message


def test_the_type_of_the_error_can_be_chosen() -> None:
    with pytest.raises(InputError, match=r"unknown dataset 'corra'; did you mean 'cora'\?"):
        check_name("dataset", "corra", ("cora",), InputError)


@pytest.mark.parametrize("error", [InputError, SettingsError])
def test_invalid_input_and_settings_are_value_errors(error: type[Exception]) -> None:
    assert issubclass(error, MVGRLError)
    assert issubclass(error, ValueError)


def test_message_is_one_printable_line_of_bounded_length():
    message = str(InputError("two\nlines\tand \x00\x1b[31m\u202e\ud800 end"))
    assert message == r"two lines and \x00\x1b[31m\u202e\ud800 end"
    message.encode()
    long = str(InputError("a" * 5000 + "; rename it"))
    assert len(long) == 900
    assert long.endswith("; rename it")
