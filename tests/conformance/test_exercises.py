"""The exercises as `cuda_kernels.conformance.gemms.exercises` compares them: built, launched by the CPU machine in place of
the GPU, and counted on source pages that are made up."""

import csv
import io
import json
from functools import lru_cache
from importlib.util import find_spec

import pytest
from places import DATA
from tiers import sweep_but

from cuda_kernels.build.assembler import find_tool
from cuda_kernels.conformance import ncu
from cuda_kernels.conformance.gemms import counts as kernels
from cuda_kernels.conformance.gemms import exercises as command
from cuda_kernels.conformance.gemms.counts import COUNTS, PIPE, evaluate, recorded, verdict
from cuda_kernels.conformance.gemms.exercises import ATOMS_SHAPE, FAMILIES, POWER, build, exercises, launch_all, main
from cuda_kernels.conformance.gemms.sass import SassInstruction, attribute, disassemble
from cuda_kernels.kernels.cute import CASES
from cuda_kernels.kernels.practical import PROBLEMS, STORES
from cuda_kernels.run.device import gpu_problem
from simlayout import machine
from simlayout.errors import DeviceError
from simlayout.nsight.source_page import COLUMNS, Counted

RECORD = DATA / "h200_exercises.json"
LABELS = {family: [label for label in exercises() if label.split()[0] == family] for family in FAMILIES}
SOME_ATOMS = LABELS["cute"][5::80]
FEW_PRACTICALS = LABELS["practical"][13:14]
SOME_PRACTICALS = [label for i, label in enumerate(LABELS["practical"]) if i // 2 % 2 == i % 2]
"""Every problem in every layout, the ways to store taking turns."""
ARCH = "sm_90a"

needs_compiler = pytest.mark.skipif(find_spec("numba") is None or find_tool("nvdisasm") is None,
                                    reason="needs numba-cuda and nvdisasm: pip install 'simlayout[test]'")


# ---- what there is ---------------------------------------------------------------------------------------------------

def test_every_problem_and_every_case_is_an_exercise_with_a_label_of_its_own():
    assert {family: len(labels) for family, labels in LABELS.items()} == {
        "practical": len(PROBLEMS) * len(STORES), "cute": len(CASES), "warptile": 3}
    assert sum(map(len, LABELS.values())) == len(exercises()) == 297


def test_every_count_of_every_exercise_is_known():
    for one in exercises().values():
        accesses = one.kernel.accesses
        assert [c.name for c in one.counts] == [a.name for a in accesses], one.label
        assert all(c.exact and c.instructions for c in one.counts), one.label


# ---- launched by the CPU machine -------------------------------------------------------------------------------------

def played(gpu, work, entry, code):
    """`Gpu.launch_code` on the CPU machine, which also checks that it executes what the exercise called `code` predicts."""
    one = exercises()[code.decode()]
    trace = machine.execute(work)
    said, done = ({c.name: (c.instruction, c.instructions, c.wavefronts, c.ideal) for c in x}
                  for x in (one.counts, trace.accesses))
    assert said == done, one.label


def play(monkeypatch, launch):
    """Puts a function in the place of what launches machine code."""
    monkeypatch.setattr(command.Gpu, "__init__", lambda gpu: None)
    monkeypatch.setattr(command.Gpu, "launch_code", launch)


def folder_of(path, labels):
    """A folder as of `build_all`, with labels in the place of machine code."""
    for i, label in enumerate(labels):
        (path / f"{i}.cubin").write_text(label)
    (path / "builds.json").write_text(json.dumps({"labels": labels, "entries": labels}))
    return path


@pytest.mark.parametrize("labels", sweep_but([FEW_PRACTICALS, SOME_ATOMS[:2]], [
    FEW_PRACTICALS, LABELS["practical"], SOME_ATOMS[:2], SOME_ATOMS, LABELS["warptile"][2:]]), ids=lambda x: x[0].split()[0])
def test_every_launch_has_the_results_that_are_wanted_and_executes_what_is_predicted(labels, tmp_path, monkeypatch):
    play(monkeypatch, played)
    launch_all(folder_of(tmp_path, labels))


@pytest.mark.parametrize("label", [LABELS[family][0] for family in FAMILIES])
def test_a_kernel_that_leaves_its_results_as_they_were_is_found(label, tmp_path, monkeypatch):
    play(monkeypatch, lambda gpu, work, entry, code: None)
    with pytest.raises(DeviceError, match=f"{label} computes a wrong result"):
        launch_all(folder_of(tmp_path, [label]))


# ---- compiled, and counted on a page that is made up -----------------------------------------------------------------

@needs_compiler
@pytest.mark.parametrize("label", sweep_but(SOME_ATOMS[:1], [*SOME_ATOMS, LABELS["warptile"][2]]))
def test_every_access_of_a_kernel_has_its_instructions_or_the_turns_of_a_loop(label):
    check_turns(label)


@needs_compiler
@pytest.mark.sweep
@pytest.mark.parametrize("label", [*LABELS["cute"], *LABELS["warptile"]])
def test_every_access_of_every_kernel_has_its_instructions_or_the_turns_of_a_loop(label):
    check_turns(label)


@needs_compiler
@pytest.mark.sweep
@pytest.mark.parametrize("label", LABELS["practical"])
def test_every_practical_problem_executes_its_instructions_as_often_as_is_predicted(label):
    one, instructions = exercises()[label], disassemble(build(label, ARCH)[1])
    assert verdict(*evaluate(one.kernel, one, instructions, counts_of(one, instructions), {})[:2])[1] == 0


def check_turns(label):
    one = exercises()[label]
    owned = attribute(disassemble(build(label, ARCH)[1]), one.kernel)
    for access in one.kernel.accesses:
        found, by_a_warp = owned[access.name], access.instructions() * 32 // one.kernel.block
        assert by_a_warp % len(found) == 0 and not any(i.guard for i in found), access.name


def counts_of(one, instructions):
    """{offset: Counted} of a launch whose warps all execute every one of the SassInstructions once: the practical problems
    have no loop but that of 1.1, whose two turns are two copies in the machine code."""
    said, warps = {c.name: c for c in one.counts}, one.kernel.block // 32
    owner = {i.offset: said[name] for name, found in attribute(instructions, one.kernel).items() for i in found}

    def counted(i):
        c = owner.get(i.offset)
        costs = [getattr(c, what) * warps // c.instructions for what in ("wavefronts", "ideal")] if c else (0, 0)
        return Counted(f"{i.guard} {i.opcode} R0".strip(), 32 * warps, *costs)

    return {i.offset: counted(i) for i in instructions}


def page_of(counted):
    """The CSV of a source page."""
    text = io.StringIO()
    lines = csv.writer(text, quoting=csv.QUOTE_ALL)
    lines.writerow(["Kernel Name", "made up"])
    lines.writerow(["Address", "Source", *COLUMNS.values()])
    for offset, c in counted.items():
        lines.writerow([hex(0x7F00 + offset), c.text, *(getattr(c, field) for field in COLUMNS)])
    return text.getvalue()


@pytest.fixture(scope="module", params=[FEW_PRACTICALS, pytest.param(SOME_PRACTICALS, marks=pytest.mark.sweep)],
                ids=["few", "some"])
def told(request, tmp_path_factory):
    """What the command makes of practical problems on a GPU that is made up: these, exit status, lines, its file."""
    folder, listing = tmp_path_factory.mktemp("practical"), lru_cache(None)(disassemble)
    some = {label: exercises()[label] for label in request.param}

    def pages(path, arguments, metrics, names):
        assert arguments == ["-m", "cuda_kernels.conformance.gemms.exercises", "--launch", path]
        labels = json.loads((path / "builds.json").read_text())["labels"]
        made = [counts_of(some[label], listing((path / f"{i}.cubin").read_bytes())) for i, label in enumerate(labels)]
        return "".join(map(page_of, made)), "\n".join(['"ID"', *(f'"{i}"' for i in range(len(labels)))])

    with pytest.MonkeyPatch.context() as patched, io.StringIO() as said:
        patched.setattr(ncu, "refuse", lambda: None)
        patched.setattr(ncu, "pages", pages)
        patched.setattr(ncu, "version", lambda: "none")
        patched.setattr(kernels, "disassemble", listing)
        patched.setattr(command, "exercises", lambda: some)
        patched.setattr(command, "this_arch", lambda: ARCH)
        patched.setattr(command, "where_and_when", lambda *_: {"device": "made up"})
        patched.setattr("sys.stdout", said)
        status = main(["--only", "practical", "--json", str(folder / "made.json")])
        lines = said.getvalue().splitlines()
    return request.param, status, lines, json.loads((folder / "made.json").read_text())


@needs_compiler
def test_warps_that_execute_every_instruction_of_a_practical_problem_once_do_what_is_predicted(told):
    labels, status, lines, _ = told
    counts = sum(3 * len(exercises()[label].counts) + 1 for label in labels)
    assert status == 0 and lines[-1] == f"{counts} counts checked, 0 wrong"
    assert [line.split(":")[0] for line in lines[:-1]] == labels
    assert all(line.endswith("counts equal") for line in lines[:-1])


@needs_compiler
def test_the_file_holds_every_access_as_it_is_predicted_and_counted(told):
    labels, *_, file = told
    assert (file["device"], file["ncu"]) == ("made up", "none")
    check_record(file, labels)


def check_record(file, labels):
    """Whether all counts of a record of some exercises are today's predictions."""
    assert (file["power"], tuple(file["shape"])) == (POWER, ATOMS_SHAPE)
    assert [v["variant"] for v in file["variants"]] == labels
    for made in file["variants"]:
        rows, of_no_access = recorded(made)
        assert verdict(rows, of_no_access) == (3 * len(rows) + 1, 0), made["variant"]
        today = [(c.name, c.instruction, c.instructions, c.wavefronts, c.ideal) for c in exercises()[made["variant"]].counts]
        assert today == [(r.access, r.instruction, *(getattr(r, what)[1] for what in COUNTS)) for r in rows]


@pytest.mark.skipif(not RECORD.exists(), reason="no H200 has counted the exercises yet")
def test_what_an_h200_counted_in_every_exercise_is_what_is_predicted():
    check_record(json.loads(RECORD.read_text()), list(exercises()))


# ---- what differs ----------------------------------------------------------------------------------------------------

WRONG = "practical 1.2 none pairs"


def found(one, **wrong):
    """The Rows and all of an exercise whose accesses are one instruction each; wrong: wavefronts too many, by access."""
    names = [c.name for c in one.counts]
    owned = {name: (SassInstruction(16 * i, "", "STS", 0),) for i, name in enumerate(names)}
    counted = {16 * i: Counted("STS [R1], R2", 32 * c.instructions, c.wavefronts + wrong.get(c.name, 0), c.ideal)
               for i, c in enumerate(one.counts)}
    return kernels.compare(one, owned, counted), kernels.strangers(owned, counted), kernels.pipe(one, {})


def test_what_differs_is_shown_access_by_access_and_fails(monkeypatch, capsys):
    results = [(label, *found(exercises()[label], **({"read (none)": 3} if label == WRONG else {})))
               for label in LABELS["practical"]]
    monkeypatch.setattr(command, "measure", lambda families, keep: results)
    assert main(["--only", "practical"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].endswith("counts checked, 1 wrong")
    at = lines.index(f"{WRONG}: 1 of 16 counts differ")
    assert len(lines) == len(LABELS["practical"]) + 1 + 1 + 5 + len(PIPE)
    (different,) = [line for line in lines if line.endswith("DIFFERENT")]
    assert different in lines[at:] and different.split()[:3] == ["read", "(none)", "ld.shared.b128"]
    assert different.split()[4:8] == ["1", "1", "16", "19"]


def test_names_that_are_longer_than_their_columns_stay_apart():
    rows, other, pipe = found(exercises()["practical 3.1 shift interleaved wide pairs"])
    text = kernels.table(rows, other, pipe)
    assert "store blocks pairs (shift rows wide) st.shared.b32 " in text and "DIFFERENT" not in text


# ---- the command -----------------------------------------------------------------------------------------------------

@pytest.mark.skipif(gpu_problem() is None, reason="this machine has a GPU")
def test_without_a_gpu_nothing_is_measured():
    with pytest.raises(DeviceError) as caught:
        main([])
    assert str(caught.value) == gpu_problem()


def test_without_nsight_compute_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(ncu, "gpu_problem", lambda: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DeviceError, match="ncu. is not on the PATH"):
        main(["--only", "warptile"])


def test_an_unknown_family_and_a_file_that_cannot_be_written_are_refused_before_anything_is_measured(tmp_path, monkeypatch,
                                                                                                      capsys):
    monkeypatch.setattr(command, "measure", lambda *_: pytest.fail("measured first"))
    with pytest.raises(SystemExit):
        main(["--only", "gemm"])
    assert "choose from" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--json", str(tmp_path / "no folder" / "x.json")])
    assert "cannot write" in capsys.readouterr().err


def test_ncu_must_have_seen_every_launch(monkeypatch, tmp_path):
    monkeypatch.setattr(ncu, "pages", lambda *_: (page_of({0: Counted("EXIT", 32, 0, 0)}), '"ID","x"\n"0","1"\n'))
    monkeypatch.setattr(kernels, "disassemble", lambda code: ())
    with pytest.raises(DeviceError, match="ncu profiled 1 kernels of 2"):
        kernels.profile(folder_of(tmp_path, ["one", "two"]), "x", 2, ".")
