"""Each language: what a small file of it defines, uses and imports."""

import pytest

from agents.code.worker.extraction import extract

SOURCES = {
    "bash": """\
source "$DIR/lib.sh"
MAX=3
export NAME=x
function go { local a=1; echo "$a $MAX"; other; }
other() { go; }
""",
    "c": """\
#include "a.h"
#define MAX 3
#define F(x) (x)
typedef struct Foo { int a; char *b; } Foo;
enum E { X, Y };
static int g_count = 0;
int *read_gauge(struct Foo *f, int n) { int k = n; return f->a + helper(k); }
int proto(int a);
""",
    "cpp": """\
#include <x/y.hpp>

namespace n { class A : public B {
public: A(); ~A() {}
int m() const { return x_ + other(); }
virtual void v() = 0; private: int x_; };
int A::m2(int q) { return this->m() + n::f(q); }
template <typename T> T gen(T t) { return t; } using X = A; }
""",
    "csharp": """\
using System; using M = A.B.C; namespace Q {
public class A : B { private int x = 1;
public int P { get; set; }
public void Do(int n) { var k = n; this.Do(k); Other.Go(); }
enum E { U } record R(int z); interface I { void W(); } } }
""",
    "go": """\
package x
import ( f "fmt"; "a.com/b/util" )
const (A = 1; B = 2)
var V = util.New()
type S[T any] struct { Name string; in int }
type R interface { Read(p []byte) (int, error) }
func (s *S[T]) Do(n int) int { k := n; const loc = 1; return k + A + s.in }
func New() *S[int] { return &S[int]{Name: "x"} }
""",
    "java": """\
package a.b; import java.util.List;
import static a.C.d; import x.*;
public class A<T> extends B implements I {
private static final int K = 1, J = 2;
@Override public List<T> get(int n) { int l = n; return this.q.get(l); }
A() {} enum E { X, Y }
interface Z { void r(); } record Rec(int p) {} }
""",
    "javascript": """\
const {a, b: c} = require('./m'); const p = require("p")
class A { x = 1; m(k) { return this.m(k) } }
function g(u, v=1) { let w = u; return w + h(v) }
module.exports = { g }
""",
    "php": """\
<?php namespace A; use B\\C\\D as E; use F\\{G, H};
require_once 'x.php';
const Q = 1;
class A extends E implements I { const K = 1;
private int $x = 1;
public function go(int $n): G { $l = $n; $this->go(1);
E::make(); helper($l); return new G(); } }
function top() {} interface I {}
trait T {} enum En { case A; }
""",
    "ruby": """\
require_relative 'a/b'
module M
  class A < B
    K = 1
    attr_reader :name, :x
    def go(n, k: 1) ; l = n; help(l); self.go(1); end
    def self.make; new; end
  end
end
""",
    "rust": """\
use crate::a::{self, b::C, d as e}; mod sub; use std::io::*;
pub struct P { x: i32 }
impl P { pub fn new(x: i32) -> P { let y = x; P { x: y } } const K: i32 = 1; }
trait T { fn go(&self) -> i32; type A; }
impl T for P { fn go(&self) -> i32 { self.x + C::q() } type A = i32; }
enum E { V1, V2(i32) } static S: i32 = 1; macro_rules! mm { () => {} }
fn main() { const L: i32 = 1; mm!(); P::new(1).go(); }
""",
    "typescript": """\
import def, { a as b, type C } from './x.js'
import * as ns from "../y"
export * from './z'
export const MAX = 3
export const f = (q: number): C => { const t = q; const g = () => t; return b(t) }
export interface I { name: string; go(): void }
export type T = { x: number }
enum E { A, B = 2 }
export class K<T> extends Base implements I { #p = 1;
constructor(private z: number) { super() }
static go(): void { this.go(); ns.foo() } }
namespace N { export function inN() {} }
function over(a: string): void
""",
}
DEFINITIONS = {
    "bash": """
        constant:MAX constant:NAME function:go function:other
    """,
    "c": """
        macro:MAX macro:F type:Foo field:Foo.a field:Foo.b enum:E constant:E.X constant:E.Y
        variable:g_count function:read_gauge function:proto
    """,
    "cpp": """
        class:A method:A.A method:A.~A method:A.m method:A.v field:A.x_ method:A.m2
        function:gen type:X
    """,
    "csharp": """
        class:A field:A.x field:A.P method:A.Do enum:A.E constant:A.E.U class:A.R field:A.R.z
        interface:A.I method:A.I.W
    """,
    "go": """
        constant:A constant:B constant:V type:S field:S.Name field:S.in interface:R
        method:R.Read method:S.Do function:New
    """,
    "java": """
        class:A field:A.K field:A.J method:A.get method:A.A enum:A.E constant:A.E.X
        constant:A.E.Y interface:A.Z method:A.Z.r class:A.Rec field:A.Rec.p
    """,
    "javascript": """
        class:A field:A.x method:A.m function:g
    """,
    "php": """
        constant:Q class:A constant:A.K field:A.x method:A.go function:top interface:I class:T
        enum:En constant:En.A
    """,
    "ruby": """
        module:M class:M.A constant:M.A.K field:M.A.name field:M.A.x method:M.A.go
        method:M.A.make
    """,
    "rust": """
        class:P field:P.x method:P.new constant:P.K interface:T method:T.go type:T.A
        method:P.go type:P.A enum:E constant:E.V1 constant:E.V2 constant:S macro:mm
        function:main
    """,
    "typescript": """
        constant:MAX function:f interface:I field:I.name method:I.go type:T field:T.x enum:E
        constant:E.A constant:E.B class:K field:K.#p method:K.constructor field:K.z method:K.go
        module:N function:N.inN function:over
    """,
}
REFERENCES = {
    "bash": "MAX echo go other",
    "c": "Foo f.a helper",
    "cpp": "A B T n.f other this.m x_",
    "csharp": "B Other Other.Go this.Do",
    "go": "A S T any byte error int s.in string util util.New",
    "java": "B I List Override T this.q this.q.get",
    "javascript": "g h module module.exports this.m",
    "php": "$this.go E E.make G I helper",
    "ruby": "B attr_reader help new self.go",
    "rust": ".go C C.q P P.new T mm self.x",
    "typescript": "Base C I b ns ns.foo this.go",
}
IMPORTS = {
    "bash": [("lib.sh", {"*": "*"})],
    "c": [("a.h", {"*": "*"})],
    "cpp": [("x/y.hpp", {"*": "*"})],
    "csharp": [("System", {"*": "*"}), ("A.B", {"M": "C"})],
    "go": [("fmt", {"f": ""}), ("a.com/b/util", {"util": ""})],
    "java": [("java.util.List", {"List": "List"}), ("a.C", {"d": "d"}), ("x", {"*": "*"})],
    "javascript": [("./m", {"a": "a", "c": "b"}), ("p", {"p": ""})],
    "php": [
        ("B\\C\\D", {"E": "D"}),
        ("F\\G", {"G": "G"}),
        ("F\\H", {"H": "H"}),
        ("x.php", {"*": "*"}),
    ],
    "ruby": [("a/b", {"*": "*"})],
    "rust": [
        ("crate::a", {"a": ""}),
        ("crate::a::b", {"C": "C"}),
        ("crate::a", {"e": "d"}),
        ("self::sub", {"sub": ""}),
        ("std::io", {"*": "*"}),
    ],
    "typescript": [
        ("./x.js", {"b": "a", "C": "C", "def": "default"}),
        ("../y", {"ns": ""}),
        ("./z", {"*": "*"}),
    ],
}


@pytest.mark.parametrize("language", SOURCES)
def test_definitions_have_their_kind_and_container(language: str) -> None:
    symbols = extract(SOURCES[language].encode(), language)["symbols"]
    found = [
        f"{kind}:{container}.{name}" if container else f"{kind}:{name}"
        for name, container, kind, *_ in symbols
    ]
    assert found == DEFINITIONS[language].split()


@pytest.mark.parametrize("language", SOURCES)
def test_references_are_names_of_others(language: str) -> None:
    found = extract(SOURCES[language].encode(), language)["references"]
    assert sorted(found) == REFERENCES[language].split()


@pytest.mark.parametrize("language", SOURCES)
def test_imports_bind_names(language: str) -> None:
    found = extract(SOURCES[language].encode(), language)["imports"]
    assert [(target, names) for target, names, _ in found] == IMPORTS[language]


def test_a_component_of_tsx_is_a_definition_and_a_use() -> None:
    source = b"export const Gauge = (p: P) => <Level at={p.x} />\nconst App = () => <Gauge />\n"
    found = extract(source, "tsx")
    assert [name for name, *_ in found["symbols"]] == ["Gauge", "App"]
    assert found["references"]["Gauge"] == [2]
