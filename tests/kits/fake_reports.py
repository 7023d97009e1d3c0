"""Objects with the interface of NVIDIA's ncu_report that hold the Launches they are given, at addresses from START."""

from simlayout.nsight.reports import CONFLICTS, Launch
from simlayout.nsight.source_page import METRICS

START = 0x7F4BF37A0000


class FakeMetric:
    """IMetric: a value, or one for each instance."""

    def __init__(self, value=None, instances=None, ids=True):
        self.value, self.instances, self.ids = value, instances or {}, ids

    def has_value(self):
        return self.value is not None

    def as_uint64(self, *instance):
        return list(self.instances.values())[instance[0]] if instance else self.value

    def as_string(self):
        return self.value

    def num_instances(self):
        return len(self.instances)

    def has_correlation_ids(self):
        return self.ids and bool(self.instances)

    def correlation_ids(self):
        return FakeMetric(instances=dict(enumerate(self.instances)))


class FakePlace:
    """ISourceInfo."""

    def __init__(self, one):
        self.one = one

    def file_name(self):
        return self.one.file

    def line(self):
        return self.one.line


class FakeAction:
    """IAction of a Launch. without: metrics that it does not have; no_ids: metrics whose instances have no addresses."""

    NameBase_MANGLED = 2

    def __init__(self, launch: Launch, without=(), no_ids=()):
        self.launch, self.metrics = launch, {}
        for name, metric in METRICS.items():
            values = {START + offset: getattr(one, name) for offset, one in launch.counted.items()}
            some = values if name == "executions" else {at: n for at, n in values.items() if n}
            self.metrics[metric] = FakeMetric(sum(values.values()), some, metric not in no_ids)
        for what in ("grid", "block"):
            for axis, n in zip("xyz", getattr(launch, what) or ()):
                self.metrics[f"launch__{what}_dim_{axis}"] = FakeMetric(n)
        self.metrics["device__attribute_display_name"] = FakeMetric(launch.device)
        self.metrics |= {CONFLICTS.format(op): FakeMetric(n) for op, n in launch.conflicts.items()}
        for metric in without:
            self.metrics.pop(metric, None)

    def name(self, base=0):
        return self.launch.mangled if base == self.NameBase_MANGLED else self.launch.name

    def metric_by_name(self, name):
        return self.metrics.get(name)

    def sass_by_pc(self, address):
        return f"      {self.launch.counted[address - START].text}"

    def source_info(self, address):
        one = self.launch.counted[address - START]
        return FakePlace(one) if one.line else None

    def source_files(self):
        return {one.file: "" for one in self.launch.counted.values() if one.file} | self.launch.sources
