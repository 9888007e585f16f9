"""export(): the signature of torch.onnx.export(dynamo=False), and what each argument becomes here."""
from __future__ import annotations

import contextlib
import inspect
import json
import os
import pathlib
import shutil
import sys
import tempfile
from typing import Any, Collection, Mapping, Sequence

from .problems import ArgumentError
from .results import Conversion, build
from .tool import run, words_of

_TRAINING = {"EVAL": "eval", "PRESERVE": "preserve", "TRAINING": "train"}
_EXPORT_TYPES = {"ONNX": "onnx", "ONNX_ATEN": "onnx-aten", "ONNX_ATEN_FALLBACK": "onnx-aten-fallback",
                 "ONNX_FALLTHROUGH": "onnx-fallthrough", "RAW": "raw"}
# Arguments that torch itself takes with dynamo=True alone, with the value that means nothing.
_OF_DYNAMO = {"dynamo": False, "dynamic_shapes": None, "custom_translation_table": None, "report": False,
              "profile": False, "dump_exported_program": False, "artifacts_dir": ".", "fallback": False}
# Arguments of PyTorch 1.x without an effect on the file: results are found by running the model.
_OUTDATED = {"example_outputs", "_retain_param_name"}


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    export_params: bool = True,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Mapping[str, Mapping[int, str]] | Mapping[str, Sequence[int]] | None = None,
    keep_initializers_as_inputs: bool | None = None,
    dynamo: bool = False,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: Any = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike = ".",
    fallback: bool = False,
    training: Any = None,
    operator_export_type: Any = None,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | Collection[type] = False,
    autograd_inlining: bool = True,
    script: bool = False,
    **more: Any,
) -> Conversion:
    """Converts a module. The arguments are those of torch.onnx.export(dynamo=False).

    A ScriptModule or ScriptFunction is saved as it is. Any other module is traced, as torch does it: in eval mode
    unless `training` says otherwise, and with arguments that are not tensors as constants. `script=True` scripts it
    instead, which keeps control flow. The file then becomes what the command line makes of it.

    Further keyword arguments are the arguments of PyTorch 1.x (`example_outputs`, `strip_doc_string`,
    `use_external_data_format`, `enable_onnx_checker`), or options of the command line (`symbolics="rules.txt"`,
    `custom_op_lib="lib.so"`). Raises ArgumentError with the name of an argument that has no meaning here.
    """
    given = {"dynamo": dynamo, "dynamic_shapes": dynamic_shapes, "custom_translation_table": custom_translation_table,
             "report": report, "profile": profile, "dump_exported_program": dump_exported_program,
             "artifacts_dir": artifacts_dir, "fallback": fallback}
    for name, value in given.items():
        if value != _OF_DYNAMO[name]:
            raise ArgumentError(name, "is of torch.onnx.export(dynamo=True) alone" +
                                ("; use dynamic_axes" if name == "dynamic_shapes" else ""))
    if not autograd_inlining:
        raise ArgumentError("autograd_inlining", "a TorchScript file has no autograd functions, only what they call")
    if f is None:
        raise ArgumentError("f", "a path, or a file to write to, is required")
    options: dict[str, Any] = {
        "no_export_params": not export_params,
        "input_names": _names("input_names", input_names),
        "output_names": _names("output_names", output_names),
        "opset": opset_version,
        "dynamic_axes": _dynamic_axes(dynamic_axes),
        "keep_initializers_as_inputs": "yes" if keep_initializers_as_inputs else None,
        "external_data": None if external_data else "never",
        "optimize": None if optimize else "none",
        "verify": verify,
        "training": _choice("training", training, _TRAINING),
        "operator_export_type": _choice("operator_export_type", operator_export_type, _EXPORT_TYPES),
        "no_constant_folding": not do_constant_folding,
        "custom_opset": custom_opsets,
        "modules_as_functions": _classes(export_modules_as_functions),
        "verbose": bool(verbose),
    }
    options.update(_of_earlier_versions(more))
    with tempfile.TemporaryDirectory(prefix="onnx-export-") as folder:
        work = pathlib.Path(folder)
        _save(model, args, kwargs, options["training"], script, work)
        if (work / "inputs.pt").exists():
            options["inputs"] = work / "inputs.pt"
        to_path = isinstance(f, (str, os.PathLike))
        output = pathlib.Path(f) if to_path else work / "model.onnx"
        if not to_path and options["external_data"] is None:
            options["external_data"] = "never"  # a stream has no second file
        # torch.onnx.export overwrites too.
        words = words_of({"output": output, "force": True, **options})
        return _converted(str(work / "model.pt"), words, bool(verbose), None if to_path else f, output)


def _converted(model: str, words: list[str], verbose: bool, stream: Any, output: pathlib.Path) -> Conversion:
    printed: list[str] = []
    document = run("convert", model, *words, accepted=(0, 11), printed=printed)
    if verbose:
        print("".join(printed), file=sys.stderr, end="")
    if stream is not None:
        with open(output, "rb") as made:
            shutil.copyfileobj(made, stream)
    return build(Conversion, document)


def _names(argument: str, names: Sequence[str] | None) -> list[str] | None:
    if names is None:
        return None
    if isinstance(names, str):
        raise ArgumentError(argument, "a list of names is required, not one text")
    for name in names:
        if "," in name:
            raise ArgumentError(argument, f"a name cannot have a comma: {name!r}")
    return list(names) or None


def _dynamic_axes(axes: Mapping[str, Any] | None) -> str | None:
    """JSON: its keys are texts."""
    if not axes:
        return None
    if not isinstance(axes, Mapping):
        raise ArgumentError("dynamic_axes", "a dict of names is required: {'x': {0: 'batch'}} or {'x': [0]}")
    plain = {name: {str(axis): label for axis, label in of.items()} if isinstance(of, Mapping) else list(of)
             for name, of in axes.items()}
    return json.dumps(plain)


def _choice(argument: str, value: Any, known: Mapping[str, str]) -> str | None:
    """Of an enum of torch.onnx, or the name of its member."""
    if value is None:
        return None
    name = getattr(value, "name", value)
    if argument == "training" and isinstance(value, bool):  # PyTorch 1.0 to 1.5
        name = "TRAINING" if value else "EVAL"
    if name not in known:
        raise ArgumentError(argument, f"{value!r} is none of {', '.join(known)}")
    return known[name]


def _classes(value: Any) -> bool | list[str]:
    if isinstance(value, bool):
        return value
    return [of.__name__ if isinstance(of, type) else str(of) for of in value]


def _of_earlier_versions(more: dict[str, Any]) -> dict[str, Any]:
    """Options of what PyTorch 1.x called otherwise; the rest are options of the command line."""
    options = {name: value for name, value in more.items() if name not in _OUTDATED}
    if not options.pop("strip_doc_string", True):
        options["keep_doc_strings"] = True
    if not options.pop("enable_onnx_checker", True):
        options["checker"] = "off"
    if options.pop("use_external_data_format", False):
        options["external_data"] = "always"
    if options.pop("aten", False):
        options["operator_export_type"] = "onnx-aten"
    return options


def _save(model: Any, args: Any, kwargs: dict[str, Any] | None, training: str | None, script: bool,
          work: pathlib.Path) -> None:
    """model.pt, and inputs.pt with the example."""
    import torch

    if isinstance(model, torch.export.ExportedProgram):
        raise ArgumentError("model", "an ExportedProgram is no TorchScript: use torch.onnx.export(dynamo=True), or "
                            "pass the module that was exported")
    positional, named = _arguments(args, kwargs)
    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        saved = model
    elif not isinstance(model, torch.nn.Module):
        raise ArgumentError("model", f"a torch.nn.Module, ScriptModule or ScriptFunction is required, not "
                            f"{type(model).__name__}")
    elif script:
        saved = torch.jit.script(model)
    else:
        saved, positional, named = _traced(model, positional, named, training)
    torch.jit.save(saved, str(work / "model.pt"))
    example: Any = positional
    if named:
        example = {**dict(zip(_parameters(saved), positional)), **named}
    if example:
        torch.save(example, work / "inputs.pt")


def _arguments(args: Any, kwargs: dict[str, Any] | None) -> tuple[tuple, dict[str, Any]]:
    """Positional and keyword arguments: a dict at the end of args is of keywords, as torch.onnx.export has it."""
    if not isinstance(args, (tuple, list)):
        args = (args,)
    positional, named = tuple(args), {}
    if kwargs is None and positional and isinstance(positional[-1], dict):
        positional, named = positional[:-1], positional[-1]
    return positional, {**named, **(kwargs or {})}


def _parameters(scripted: Any) -> list[str]:
    schema = scripted.schema if hasattr(scripted, "schema") else scripted.forward.schema
    return [a.name for a in schema.arguments if a.name != "self"]


def _traced(model: Any, positional: tuple, named: dict[str, Any], training: str | None) -> tuple[Any, tuple, dict]:
    """The trace, and its arguments: the tensors alone, in the order of the parameters."""
    import torch

    try:
        bound = inspect.signature(model.forward).bind(*positional, **named)
    except TypeError as e:
        raise ArgumentError("args", f"forward does not take them: {e}") from None
    kinds = inspect.signature(model.forward).parameters
    fixed, tensors, names = dict(bound.arguments), [], []
    slots: list[tuple[str, int | str | None]] = []
    for name, value in bound.arguments.items():
        parts: list[tuple[int | str | None, Any]] = [(None, value)]
        if kinds[name].kind is inspect.Parameter.VAR_POSITIONAL:
            parts = list(enumerate(value))
            fixed[name] = list(value)
        elif kinds[name].kind is inspect.Parameter.VAR_KEYWORD:
            parts = list(value.items())
            fixed[name] = dict(value)
        for key, part in parts:
            if _is_of_tensors(name, part):
                slots.append((name, key))
                tensors.append(part)
                names.append(name if key is None else key if isinstance(key, str) else f"{name}_{key}")
    original = model.forward

    def forward(*values: Any) -> Any:
        call = inspect.BoundArguments(bound.signature, dict(fixed))
        for (name, key), value in zip(slots, values):
            if key is None:
                call.arguments[name] = value
            else:
                call.arguments[name][key] = value
        return original(*call.args, **call.kwargs)

    # torch.jit.trace names the inputs after the parameters, and takes tensors only: the others are bound here.
    parameter = inspect.Parameter.POSITIONAL_OR_KEYWORD
    forward.__signature__ = inspect.Signature([inspect.Parameter(n, parameter) for n in names])
    # Clones: what forward writes in place stays out of the caller's tensors, and out of the example.
    with _mode(model, training), _replaced(model, forward), _without_autocast_cache(), _inlined_functions():
        traced = torch.jit.trace(model, _clones(tuple(tensors)), check_trace=False, strict=False)
    return traced, tuple(tensors), {}


def _clones(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _clones(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [_clones(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value.clone()


def _is_of_tensors(name: str, value: Any) -> bool:
    """Whether an argument is a tensor or holds tensors alone; False: a constant."""
    import torch

    if isinstance(value, torch.Tensor):
        return True
    if not isinstance(value, (tuple, list, dict)) or not value:
        return False
    parts = [_is_of_tensors(name, v) for v in (value.values() if isinstance(value, dict) else value)]
    if any(parts) and not all(parts):
        raise ArgumentError("args", f"'{name}' has tensors and other values: a trace takes a container of tensors "
                            "alone; use script=True, or pass them apart")
    return all(parts)


@contextlib.contextmanager
def _mode(model: Any, training: str | None):
    """Every module as it was afterwards: train() changes all of them."""
    before = {module: module.training for module in model.modules()}
    if training != "preserve":
        model.train(training == "train")
    try:
        yield
    finally:
        for module, was in before.items():
            module.training = was


@contextlib.contextmanager
def _replaced(model: Any, forward: Any):
    own = model.__dict__.get("forward")
    model.forward = forward
    try:
        yield
    finally:
        if own is None:
            del model.forward
        else:
            model.forward = own


@contextlib.contextmanager
def _without_autocast_cache():
    """The cache of autocast would replace weights by constants."""
    import torch

    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


@contextlib.contextmanager
def _inlined_functions():
    """Calls of torch.autograd.Function are what their forward does: a TorchScript file cannot hold Python."""
    import torch
    from torch.autograd.function import FunctionCtx

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls.setup_context is not torch.autograd.Function.setup_context:
            return cls.forward(*args, **kwargs)
        context = FunctionCtx()
        context.needs_input_grad = (False,) * len(args)
        return cls.forward(context, *args, **kwargs)

    before = torch.autograd.Function.__dict__["apply"]
    torch.autograd.Function.apply = classmethod(apply)
    try:
        yield
    finally:
        torch.autograd.Function.apply = before
