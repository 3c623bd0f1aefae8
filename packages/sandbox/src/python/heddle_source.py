"""Compiles a job's code to run as a module with `return` and `await` at the top level."""

import ast
import dis
import inspect

FILE = "heddle-block.py"
MAIN = "__heddle_main__"
_AWAIT_FLAG = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_BINDING_OPS = {"STORE_NAME", "STORE_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL"}


def _parse(source):
    return compile(source, FILE, "exec", flags=_AWAIT_FLAG | ast.PyCF_ONLY_AST, dont_inherit=True)


def _compile(tree):
    return compile(tree, FILE, "exec", flags=_AWAIT_FLAG, dont_inherit=True)


class _TopLevelVisitor(ast.NodeVisitor):
    """Finds `return`, `await` and `yield` in the module's own scope, outside functions and classes."""

    def __init__(self):
        self.returns = False
        self.awaits = False
        self.first_yield = None

    def visit_Return(self, node):
        self.returns = True
        self.generic_visit(node)

    def visit_Yield(self, node):
        self.first_yield = self.first_yield or node

    visit_YieldFrom = visit_Yield

    def visit_Await(self, node):
        self.awaits = True
        self.generic_visit(node)

    visit_AsyncFor = visit_AsyncWith = visit_Await

    def visit_ListComp(self, node):
        self.awaits = self.awaits or any(generator.is_async for generator in node.generators)
        self.generic_visit(node)

    visit_SetComp = visit_DictComp = visit_ListComp

    def visit_GeneratorExp(self, node):
        self.visit(node.generators[0].iter)

    def visit_FunctionDef(self, node):
        for child in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if child is not None:
                self.visit(child)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        for child in (*node.args.defaults, *node.args.kw_defaults):
            if child is not None:
                self.visit(child)

    def visit_ClassDef(self, node):
        for child in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(child)


class _TopLevelTransformer(ast.NodeTransformer):
    """Leaves nested scopes unchanged."""

    def _keep(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _keep


class _ReturnReplacer(_TopLevelTransformer):
    """Replaces `return` so that the compiler accepts the module without a surrounding function."""

    def visit_Return(self, node):
        return ast.copy_location(ast.Expr(node.value or ast.Constant(None)), node)


class _AnnotationRemover(_TopLevelTransformer):
    """Removes annotations, which are not allowed for names declared global."""

    def visit_AnnAssign(self, node):
        if not isinstance(node.target, ast.Name):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)


def _bound_names(tree):
    """Returns the names that the module binds."""
    code = _compile(ast.fix_missing_locations(_ReturnReplacer().visit(tree)))
    return sorted({instruction.argval for instruction in dis.get_instructions(code) if instruction.opname in _BINDING_OPS})


def _is_future_import(node):
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _as_function(tree, source, awaits):
    """Wraps the module in a function that binds the module's names as globals, so that definitions see each other."""
    tree = _AnnotationRemover().visit(tree)
    names = _bound_names(_AnnotationRemover().visit(_parse(source)))
    future_imports = [node for node in tree.body if _is_future_import(node)]
    body = [node for node in tree.body if not _is_future_import(node)]
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    node_type = ast.AsyncFunctionDef if awaits else ast.FunctionDef
    function = node_type(
        name=MAIN,
        args=arguments,
        body=[*([ast.Global(names=names)] if names else []), *body],
        decorator_list=[],
        type_params=[],
    )
    return ast.fix_missing_locations(ast.Module(body=[*future_imports, function], type_ignores=[]))


def compile_source(source):
    """Returns the code object of a job. Raises SyntaxError."""
    # Python also ignores a byte order mark at the start of a file.
    source = source.removeprefix("\ufeff")
    tree = _parse(source)
    visitor = _TopLevelVisitor()
    visitor.visit(tree)
    if visitor.returns:
        if visitor.first_yield is not None:
            position = (FILE, visitor.first_yield.lineno, visitor.first_yield.col_offset + 1, None)
            raise SyntaxError("'yield' outside function", position)
        tree = _as_function(tree, source, visitor.awaits)
    return _compile(tree)


def is_coroutine(code):
    """Returns whether running the code returns something to await."""
    return bool(code.co_flags & inspect.CO_COROUTINE)
