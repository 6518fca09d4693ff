"""The kernels compile for every layout; needs NVRTC but no device."""

import pytest

from dpbb.jobshop import load
from dpbb.jobshop.gpu_batch import HERE, Layout
from dpbb.kernels.nvrtc import translation_unit
from tests.unit.engines.gpu.compiling import compile_unit
from tests.unit.jobshop.shops import SMALL, odd_shop

SHOPS = {
    "small": SMALL, "odd": odd_shop(1),
    "wide": odd_shop(2, n_machines=40, longest_time=20_000_000), "ta71": load("ta71"),
}  # fmt: skip

FORMS = ((1, 4), (1, 1), (2, 4), (2, 2), (4, 4))


def compiles(source, defines):
    text, options = translation_unit([HERE / source], defines)
    compile_unit(text, [*options, "--gpu-architecture=compute_90"])


@pytest.mark.parametrize("name", SHOPS)
def test_kernels_of_batches_compile(name):
    shop = SHOPS[name]
    layout = Layout(shop)
    for criterion in range(3) if name == "odd" else (0,):
        defines = {**layout.defines, "CRITERION": criterion, "WARPS": 4}
        # what a shop and a cost are has nothing to do with how solutions are read
        for id_bytes, unit in FORMS[: None if name == "small" else 1]:
            more = {"ID_BYTES": id_bytes, "UNIT": unit}
            compiles("sequences.cu", {**defines, **more})
        width = int(shop.machine_lengths.max())
        compiles("orders.cu", {**defines, "WIDTH": width, "GROUP": layout.group})
