// Team scratch that knows who wrote and who read each of its elements since the members met last: for bind(check=True)
// on a CPU. A member that reads what another one writes, with no barrier between, is told with both places.
#pragma once
#include <type_traits>

struct Access {
    long turn; // of the team's meetings, + 1; 0: never
    int member;
    int line;
    const char *file;
};

struct Shadow {                  // of 4 bytes of scratch
    Access read, write, changed; // changed: by an atomic operation
};

struct Check {
    const char *arena;
    Shadow *shadow;
    long begun; // turn in which the team began
};

// Who comes to scratch, and from where in the body.
struct Visitor {
    Members *members;
    int own;
    const char *file;
    int line;
    long turn; // of the access
    POINT_FN Shadow &shadow(const void *at) const {
        return members->check->shadow[((const char *)at - members->check->arena) / 4];
    }
    POINT_FN bool of_other(const Access &x) const { return x.turn == turn && x.member != own; }
    __attribute__((noinline)) void tell(const char *does, const Access &x, const char *did) const {
        members->fail("%s:%d: member %d %s scratch that member %d %s at %s:%d, with no barrier between",
                      Members::name_of(file), line, own, does, x.member, did, Members::name_of(x.file), x.line);
    }
    POINT_FN void reads(const void *at) const {
        Shadow &s = shadow(at);
        if (of_other(s.write)) tell("reads", s.write, "writes");
        if (of_other(s.changed)) tell("reads", s.changed, "changes");
        if (s.write.turn <= members->check->begun && s.changed.turn <= members->check->begun)
            members->fail("%s:%d: member %d reads scratch that nobody has written yet; a barrier may be missing",
                          Members::name_of(file), line, own);
        if (s.read.turn <= turn) s.read = {turn, own, line, file};
    }
    POINT_FN void writes(const void *at) const {
        Shadow &s = shadow(at);
        if (of_other(s.write)) tell("writes", s.write, "writes");
        if (of_other(s.changed)) tell("writes", s.changed, "changes");
        if (of_other(s.read)) tell("writes", s.read, "reads");
        s.write = {turn, own, line, file};
    }
    POINT_FN void changes(const void *at) const {
        Shadow &s = shadow(at);
        if (of_other(s.write)) tell("changes", s.write, "writes");
        if (of_other(s.read)) tell("changes", s.read, "reads");
        s.changed = {turn, own, line, file};
    }
};

template <class T, class F> POINT_FN void each_address(T &at, const F &f) { f(&at); }
template <class T, class I, class F> POINT_FN void each_address(const Elements<T, I> &at, const F &f) {
    for (int l = 0; l < at.i.count; ++l) f(at.data + lane_of(at.i, l));
}

template <class T> POINT_FN T value_at(const T &at) { return at; }
template <class T, class I> POINT_FN auto value_at(const Elements<T, I> &at) { return at.all(); }

// E: a reference, or elements at a pack of indices. What stands in a formula is scratch; a variable, auto x = s(i), has
// the value from its beginning.
template <class E> struct CheckedElement {
    typedef decltype(value_at(*(typename std::remove_reference<E>::type *)nullptr)) Value;
    E at;
    Visitor who;
    Value value;
    POINT_FN CheckedElement(E at, const Visitor &who) : at(at), who(who), value(value_at(at)) {}
    CheckedElement(const CheckedElement &) = default;
    POINT_FN void read() const {
        each_address(at, [&](const void *x) { who.reads(x); });
    }
    POINT_FN void written() const {
        each_address(at, [&](const void *x) { who.writes(x); });
    }
    POINT_FN void changed() const {
        each_address(at, [&](const void *x) { who.changes(x); });
    }
    POINT_FN operator Value() const { return read(), value; }
    template <class X> POINT_FN Value operator=(const X &x) const && { return written(), memory_at(at) = x; }
    template <class X> POINT_FN void operator=(const X &x) & { value = x; }
    POINT_FN Value operator=(const CheckedElement &x) const && { return written(), memory_at(at) = Value(x); }
    POINT_FN void operator=(const CheckedElement &x) & { value = Value(x); }

#define CHANGES(OP) \
    template <class X> POINT_FN Value operator OP## = (const X &x) const && { \
        return read(), written(), memory_at(at) OP## = x; \
    } \
    template <class X> POINT_FN void operator OP## = (const X &x) & { value OP## = x; }
    EACH_OPERATION(CHANGES)
#undef CHANGES
    POINT_FN void operator++() const && { read(), written(), ++memory_at(at); }
    POINT_FN void operator++(int) const && { read(), written(), ++memory_at(at); }
    POINT_FN void operator--() const && { read(), written(), --memory_at(at); }
    POINT_FN void operator--(int) const && { read(), written(), --memory_at(at); }
};

template <class E> struct HasNoFraction<CheckedElement<E>> : HasNoFraction<typename std::remove_reference<E>::type> {};

// A checked element among numbers is its value: see lanes.h, functions.h
template <class E> POINT_FN auto value_of(const CheckedElement<E> &x) { return typename CheckedElement<E>::Value(x); }

template <class E> struct WholePack<CheckedElement<E>> : WholePack<E> {};

template <class T> struct Plain<CheckedElement<T &>> : Plain<T> {};

template <class E> POINT_FN auto whole_of(const CheckedElement<E> &x) { return value_of(x); }
template <class E> POINT_FN auto index_of(const CheckedElement<E> &x) { return index_of(value_of(x)); }
template <class E> POINT_FN auto lane_of(const CheckedElement<E> &x, int l) { return lane_of(value_of(x), l); }

template <class I> using Index = decltype(index_of(std::declval<const I &>()));

template <class V> struct CheckedView {
    V view;
    Members *members;
    int own;
    template <class I> POINT_FN auto operator()(const I &i, PLACE) const { return inside(file, line, i); }
    template <class I, class J, class = Index<J>> POINT_FN auto operator()(const I &i, const J &j, PLACE) const {
        return inside(file, line, i, j);
    }
    template <class I, class J, class K, class = Index<J>, class = Index<K>>
    POINT_FN auto operator()(const I &i, const J &j, const K &k, PLACE) const {
        return inside(file, line, i, j, k);
    }
    // A part of it, as of an array
    template <class I> POINT_FN friend auto subview(const CheckedView &all, const I &i, PLACE) {
        return all.part_of(file, line, i);
    }
    template <class I, class J> POINT_FN friend auto subview(const CheckedView &all, const I &i, const J &j, PLACE) {
        return all.part_of(file, line, i, j);
    }
    template <class I, class J, class K>
    POINT_FN friend auto subview(const CheckedView &all, const I &i, const J &j, const K &k, PLACE) {
        return all.part_of(file, line, i, j, k);
    }
    template <class... I> POINT_FN auto part_of(const char *file, int line, const I &...i) const {
        const auto part = view.part_of(file, line, i...);
        return CheckedView<typename std::remove_const<decltype(part)>::type>{part, members, own};
    }
    template <class... I> POINT_FN auto inside(const char *file, int line, const I &...i) const {
        if (!view.contains(file, line, i...)) members->leave();
        return element_of(view.checked(file, line, i...), file, line);
    }
    template <class T> POINT_FN auto element_of(T &at, const char *file, int line) const {
        return CheckedElement<T &>(at, {members, own, file, line, members->whole.turn + 1});
    }
    template <class T, class I> POINT_FN auto element_of(Elements<T, I> at, const char *file, int line) const {
        return CheckedElement<Elements<T, I>>(at, {members, own, file, line, members->whole.turn + 1});
    }
};
