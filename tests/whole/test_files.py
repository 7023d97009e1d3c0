"""Files are written whole or not at all, through links and into devices; what cannot be written is one line."""

import errno
import os
import stat
from pathlib import Path

import pytest

from simlayout.errors import SimlayoutError
from simlayout.files import check_folder, check_writable, deliver, make_folder, reading, write_whole


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path):
    target, link = tmp_path / "there" / "a.json", tmp_path / "link.json"
    target.parent.mkdir()
    link.symlink_to(target)
    check_writable(link)
    write_whole(link, "text")
    assert link.is_symlink() and target.read_text() == "text"


def test_a_device_or_a_pipe_is_written_into_and_stays(tmp_path):
    check_writable("/dev/null")
    write_whole("/dev/null", b"gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", "text")
    assert os.read(reader, 10) == b"text" and stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    os.close(reader)


def test_a_new_file_has_the_rights_that_the_user_gives_and_an_old_one_keeps_its_own(tmp_path):
    mask = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "text")
        write_whole(tmp_path / "old", "text")
        (tmp_path / "old").chmod(0o604)
        write_whole(tmp_path / "old", "again")
    finally:
        os.umask(mask)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new", "old")] == [0o640, 0o604]


@pytest.mark.parametrize("write", [check_writable, lambda path: write_whole(path, "x")])
def test_a_file_that_may_not_be_changed_is_not_replaced(tmp_path, monkeypatch, write):
    path = tmp_path / "kept"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)          # as of mode 0444, but for root
    with pytest.raises(SimlayoutError, match="it is there, and may not be changed"):
        write(path)
    assert path.read_text() == "old"


@pytest.mark.parametrize("failure, raised", [(OSError(errno.ENOSPC, "No space left on device"), SimlayoutError),
                                             (KeyboardInterrupt(), KeyboardInterrupt)])
def test_what_fails_half_way_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, failure, raised):
    def fail(*_):
        raise failure

    path = tmp_path / "a.json"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(raised):
        write_whole(path, "new")
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="Linux has a folder that takes no files")
def test_a_folder_that_is_there_is_not_asked_for():
    with pytest.raises(SimlayoutError, match="^cannot write /proc/a.json: /proc takes no files$"):
        check_writable("/proc/a.json")


@pytest.mark.parametrize("name", ["none/a.json", "a\0b", "x" * 300, "", "file/a.json", "loop"])
@pytest.mark.parametrize("write", [check_writable, lambda path: write_whole(path, "x"), lambda path: deliver(path, "x")])
def test_a_name_that_cannot_be_written_is_refused_in_one_line(tmp_path, name, write):
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop" / "loop")
    with pytest.raises(SimlayoutError, match="cannot write") as error:
        write(f"{tmp_path}/{name}")
    assert "\n" not in str(error.value) and "Errno" not in str(error.value)


def test_folders_are_made_or_refused(tmp_path):
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "file").write_text("")
    for name in ("file", "file/a", "a\0b"):
        with pytest.raises(SimlayoutError, match="cannot make the folder"):
            make_folder(tmp_path / name)


def test_whether_a_folder_could_be_made_is_asked_without_making_it(tmp_path):
    check_folder(tmp_path / "a" / "b")
    check_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    for name, fault in (("file", "is a file"), ("file/a", "is a file"), ("a\0b", "cannot write")):
        with pytest.raises(SimlayoutError, match=fault):
            check_folder(tmp_path / name)


def test_a_folder_in_which_nothing_may_be_written_is_named_itself(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refused)
    for folder in (tmp_path, tmp_path / "a" / "b"):
        with pytest.raises(SimlayoutError) as told:
            check_folder(folder)
        assert str(told.value) == f"cannot write into the folder {tmp_path}: Permission denied"


def test_a_file_where_a_folder_is_to_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    for ask in (make_folder, check_folder):
        with pytest.raises(SimlayoutError, match=r"cannot make the folder .*file: .*is a file"):
            ask(tmp_path / "file")


def test_a_dash_is_stdout(capsys):
    deliver("-", "text")
    assert capsys.readouterr().out == "text"


@pytest.mark.parametrize("name, why", [("none", "No such file or directory"), (".", "Is a directory"),
                                       ("bytes", "can't decode"), ("a\0b", "null")])
def test_what_cannot_be_read_is_one_line_that_says_why(name, why, tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(SimlayoutError, match=f"^cannot read {name}: .*{why}"), reading(name):
        (tmp_path / name).read_text("utf-8")
