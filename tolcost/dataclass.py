"""Dataclasses whose methods are compiled when they are called often.

The standard library compiles up to six methods of a class when its module is loaded.  Of the two hundred
classes that a command loads it makes objects of a few, and few objects of most of these: compiling all the
others took half of its start.  The first calls go by the fields of the class, one by one.  All else is left
to the standard library, and what is made here is a dataclass to its functions.
"""

from __future__ import annotations

from dataclasses import field, fields, replace
from typing import TYPE_CHECKING

__all__ = ["dataclass", "field", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import copyreg
    import dataclasses
    from reprlib import recursive_repr
    from types import MappingProxyType, MemberDescriptorType

    _OFTEN = 64
    """A method that is called so often is compiled: that takes as long as so many calls without."""

    _SEVERAL = 8
    """What makes objects takes its place in a class with so many."""

    def dataclass(*, frozen=False, slots=False, eq=True, weakref_slot=False):
        """What ``dataclasses.dataclass`` makes of a class; its methods are compiled when there is need."""
        plain = dataclasses.dataclass(
            init=False, repr=False, eq=False, slots=slots, weakref_slot=weakref_slot
        )

        def made(cls):
            own = set(vars(cls))
            cls = plain(cls)
            methods = {"__init__": _first(cls, frozen), "__repr__": _repr}
            if eq:
                methods["__eq__"] = _late(cls, "__eq__", _eq_of, _eq, frozen)
                explicit = "__hash__" in own and not (cls.__hash__ is None and "__eq__" in own)
                if not explicit:
                    cls.__hash__ = _late(cls, "__hash__", _hash_of, _hash, frozen) if frozen else None
            if frozen:
                methods |= {"__setattr__": _frozen, "__delattr__": _frozen}
            if frozen and slots:
                methods |= {"__getstate__": _state, "__setstate__": _restore}
            for name, method in methods.items():
                if name not in own:
                    setattr(cls, name, method)
            return cls

        return made

    def _first(cls, frozen):
        """What makes the first objects of a class; to change a class costs more than a few of them."""
        fitted, left = None, _SEVERAL

        def first(*args, **kwargs):
            nonlocal fitted, left
            fitted = fitted or _fitted(cls)
            left -= 1
            if fitted is None or not left:
                cls.__init__ = fitted = fitted or _late(cls, "__init__", _init_of, _init, frozen)
            return fitted(*args, **kwargs)

        return first

    _OF_LENGTH = (
        None,
        lambda a: lambda self, p: a(self, p),
        lambda a, b: lambda self, p, q: a(self, p) or b(self, q),
        lambda a, b, c: lambda self, p, q, r: a(self, p) or b(self, q) or c(self, r),
        lambda a, b, c, d: lambda self, p, q, r, s: a(self, p) or b(self, q) or c(self, r) or d(self, s),
        lambda a, b, c, d, e: (
            lambda self, p, q, r, s, t: a(self, p) or b(self, q) or c(self, r) or d(self, s) or e(self, t)
        ),
        lambda a, b, c, d, e, f: (
            lambda self, p, q, r, s, t, u: (
                a(self, p) or b(self, q) or c(self, r) or d(self, s) or e(self, t) or f(self, u)
            )
        ),
        lambda a, b, c, d, e, f, g: (
            lambda self, p, q, r, s, t, u, v: (
                a(self, p) or b(self, q) or c(self, r) or d(self, s) or e(self, t) or f(self, u) or g(self, v)
            )
        ),
        lambda a, b, c, d, e, f, g, h: (
            lambda self, p, q, r, s, t, u, v, w: (
                (a(self, p) or b(self, q) or c(self, r) or d(self, s))
                or (e(self, t) or f(self, u) or g(self, v) or h(self, w))
            )
        ),
    )
    """What puts so many values into fields, by what does so for each and gives nothing; none is compiled."""

    def _fitted(cls):
        """The one for the fields of a class, by their names; None where there are too many, or odd ones."""
        names, missing, setters, defaults = cls.__match_args__, dataclasses.MISSING, [], []
        if not 0 < len(names) < len(_OF_LENGTH):
            return None
        for one in fields(cls):
            made = one.default_factory is not missing
            if one.name in names:
                setter = _setter(cls, one.name)
                setters.append(_made(setter, one.default_factory) if made else setter)
                if made or one.default is not missing:
                    defaults.append(one.default)
            elif made or one.init:
                return None
        if hasattr(cls, "__post_init__"):
            setters[-1] = _completed(setters[-1], cls.__post_init__)
        fitted = _OF_LENGTH[len(names)](*setters)
        fitted.__code__ = fitted.__code__.replace(co_varnames=("self", *names))
        fitted.__defaults__, fitted.__qualname__ = tuple(defaults), f"{cls.__qualname__}.__init__"
        return fitted

    def _made(setter, factory):
        return lambda self, value: setter(self, factory() if value is dataclasses.MISSING else value)

    def _completed(setter, after):
        return lambda self, value: setter(self, value) or after(self)

    def _late(cls, name, source, by_fields, frozen):
        """A method that goes by fields, and compiles itself to stand in its own place when called often."""
        calls, simple = 0, None

        def late(*args, **kwargs):
            nonlocal calls, simple
            if vars(cls)[name] is late:
                calls += 1
                simple = simple or by_fields(cls)
                if calls < _OFTEN and (found := simple(*args, **kwargs)) is not _MISFIT:
                    return found
                names = {}
                exec(source(cls, frozen, names), names)  # noqa: S102  # of names that classes here have
                names[name].__qualname__ = f"{cls.__qualname__}.{name}"
                setattr(cls, name, names[name])
            return vars(cls)[name](*args, **kwargs)

        late.__qualname__ = f"{cls.__qualname__}.{name}"
        return late

    _MISFIT = object()
    """Said of arguments that do not fit: what is compiled tells why."""

    def _init(cls):
        missing, put = dataclasses.MISSING, object.__setattr__
        listed = [one for one in fields(cls) if one.init or one.default_factory is not missing]
        order = [one.name for one in listed if one.init and not one.kw_only]
        known = {one.name for one in listed if one.init}
        asked = [(one.name, one.default, one.default_factory) for one in listed]
        setters = [_setter(cls, name) for name in order]
        after = hasattr(cls, "__post_init__")

        def init(self, *args, **kwargs):
            if len(args) == len(asked) == len(setters) and not kwargs:  # all are told, in order
                for setter, value in zip(setters, args, strict=True):
                    setter(self, value)
                return self.__post_init__() if after else None
            values = dict(zip(order, args, strict=False))
            if len(args) > len(order):
                return _MISFIT
            if kwargs:
                if not (kwargs.keys() <= known and kwargs.keys().isdisjoint(values)):
                    return _MISFIT
                values.update(kwargs)
            for name, default, factory in asked:
                value = values.get(name, default)
                if value is missing:
                    if factory is missing:
                        return _MISFIT
                    value = factory()
                put(self, name, value)
            if after:
                self.__post_init__()
            return None

        return init

    def _eq(cls):
        compared = _values(one.name for one in fields(cls) if one.compare)

        def eq(self, other):
            if other.__class__ is self.__class__:
                return compared(self) == compared(other)
            return NotImplemented

        return eq

    def _hash(cls):
        hashed = _values(one.name for one in fields(cls) if (one.compare if one.hash is None else one.hash))
        return lambda self: hash(hashed(self))

    def _values(names):
        listed = tuple(names)
        return lambda self: tuple([getattr(self, name) for name in listed])

    def _init_of(cls, frozen, names):
        names["_MISSING"] = missing = dataclasses.MISSING
        given, named, lines = ["self"], [], []
        for one in fields(cls):
            value = one.name
            if one.default_factory is not missing:
                names[f"_made_{one.name}"] = one.default_factory
                made = f"_made_{one.name}()"
                value = f"{made} if {one.name} is _MISSING else {one.name}" if one.init else made
                default = "=_MISSING"
            elif one.default is not missing:
                names[f"_default_{one.name}"] = one.default
                default = f"=_default_{one.name}"
            else:
                default = ""
            if one.init:
                (named if one.kw_only else given).append(one.name + default)
            if one.init or one.default_factory is not missing:
                names[f"_set_{one.name}"] = _setter(cls, one.name) if frozen else None
                lines.append(f"_set_{one.name}(self, {value})" if frozen else f"self.{one.name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        listed = ", ".join((*given, *(["*", *named] if named else [])))
        return f"def __init__({listed}):\n  " + "\n  ".join(lines or ["pass"])

    def _setter(cls, name):
        """What puts a value into a field of a frozen object; a slot does that itself, without a search."""
        slot = getattr(cls, name, None)
        if isinstance(slot, MemberDescriptorType):
            return slot.__set__
        return lambda self, value: object.__setattr__(self, name, value)

    def _eq_of(cls, frozen, names):
        compared = [one.name for one in fields(cls) if one.compare]
        mine, theirs = (_tuple(who, compared) for who in ("self", "other"))
        return (
            "def __eq__(self, other):\n  if other.__class__ is self.__class__:\n"
            f"    return {mine} == {theirs}\n  return NotImplemented"
        )

    def _hash_of(cls, frozen, names):
        hashed = [one.name for one in fields(cls) if (one.compare if one.hash is None else one.hash)]
        return f"def __hash__(self):\n  return hash({_tuple('self', hashed)})"

    def _tuple(who, names):
        return f"({''.join(f'{who}.{name}, ' for name in names)})"

    @recursive_repr()
    def _repr(self):
        shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def _frozen(self, name, *value):
        raise dataclasses.FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")

    def _state(self):
        return [getattr(self, one.name) for one in fields(self)]

    def _restore(self, state):
        for one, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, one.name, value)

    def _read_only(items):
        return MappingProxyType(items)

    # Frozen data has mappings that nobody writes to, which neither pickle nor copy knows by itself.
    copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))
