//! Filter programs: the steps that the filter kernel and its twin on the CPU run over 1024 rows at
//! a time.

use super::{DType, Lookup};

/// A test of one column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Test {
    /// In a closed range of cells, given as their bits; in none if the ends are in the wrong order.
    Range { low: u64, high: u64 },
    /// One of these cells, in ascending order.
    List(Vec<u64>),
    /// A code of the table.
    Lookup(Lookup),
    /// Which bools pass.
    Bools { on_false: bool, on_true: bool },
    /// Null or NaN.
    Null,
    /// Neither.
    NotNull,
    /// Passes and fails on no cell.
    Unknown,
}

/// A test, or its failure on a cell that holds a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leaf {
    pub column: usize,
    pub dtype: DType,
    pub test: Test,
    pub negate: bool,
}

/// A predicate without negations.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Leaf(Leaf),
    And(Vec<Node>),
    Or(Vec<Node>),
}

/// What a step does; the numbers of `kernels-ptx/cu/columns.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Op {
    Range = 0,
    List = 1,
    Lookup = 2,
    Bits = 3,
    All = 4,
    And = 5,
    Or = 6,
}

pub(super) const NEGATE: u8 = 1;
pub(super) const VALID: u8 = 2;
pub(super) const INVERT: u8 = 4;
pub(super) const GUARD: u8 = 8;

/// Results that a program can hold at once.
pub(super) const SLOTS: usize = 12;
/// Columns that a program can read.
pub(super) const COLUMNS: usize = 8;
/// Steps of a program at most.
pub(super) const STEPS_MAX: usize = 64;
/// Words of a step.
const STEP_WORDS: usize = 8;

/// A step: a test of a column or the combination of two results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Instruction {
    pub op: Op,
    pub dtype: DType,
    /// Which of the program's columns.
    pub column: u8,
    pub flags: u8,
    /// Where the result goes.
    pub to: u8,
    /// The operands of `And` and `Or`; b is also the guard.
    pub a: u8,
    pub b: u8,
    pub low: u64,
    pub high: u64,
    /// First word of a list in `Program::lists`, and its length.
    pub at: u32,
    pub len: u32,
}

/// Steps, lists, and the columns that they read. The result is in slot 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Program {
    pub steps: Vec<Instruction>,
    pub lists: Vec<u32>,
    /// Places of the columns in the call.
    pub columns: Vec<usize>,
}

impl Program {
    /// The program of a predicate, or `None` when it does not fit the limits above. `nullable`
    /// tells which columns of the call have a validity mask.
    pub fn compile(node: &Node, nullable: &[bool]) -> Option<Self> {
        let mut program = Self::default();
        program.emit(node, nullable, 0, None)?;
        Some(program)
    }

    fn emit(&mut self, node: &Node, nullable: &[bool], to: usize, guard: Option<u8>) -> Option<()> {
        if to >= SLOTS || self.steps.len() >= STEPS_MAX {
            return None;
        }
        let (op, parts) = match node {
            Node::Leaf(leaf) => return self.emit_leaf(leaf, nullable, to, guard),
            Node::And(parts) => (Op::And, parts),
            Node::Or(parts) => (Op::Or, parts),
        };
        let Some((first, rest)) = parts.split_first() else {
            let flags = if op == Op::And { 0 } else { INVERT };
            self.steps.push(Instruction { op: Op::All, flags, ..Instruction::new(to) });
            return Some(());
        };
        self.emit(first, nullable, to, guard)?;
        for part in rest {
            // Where no row is left, the other tests of an "and" need not read their columns.
            let inner = if op == Op::And { Some(to as u8) } else { guard };
            self.emit(part, nullable, to + 1, inner)?;
            let (a, b) = (to as u8, to as u8 + 1);
            self.steps.push(Instruction { op, a, b, ..Instruction::new(to) });
        }
        Some(())
    }

    fn emit_leaf(
        &mut self,
        leaf: &Leaf,
        nullable: &[bool],
        to: usize,
        guard: Option<u8>,
    ) -> Option<()> {
        let place = match self.columns.iter().position(|c| *c == leaf.column) {
            Some(place) => place,
            None if self.columns.len() == COLUMNS => return None,
            None => {
                self.columns.push(leaf.column);
                self.columns.len() - 1
            }
        };
        let valid = if nullable[leaf.column] { VALID } else { 0 };
        let negate = if leaf.negate { NEGATE } else { 0 };
        let mut step =
            Instruction { dtype: leaf.dtype, column: place as u8, ..Instruction::new(to) };
        step.flags = valid | negate;
        match &leaf.test {
            Test::Range { low, high } => (step.op, step.low, step.high) = (Op::Range, *low, *high),
            Test::List(cells) => {
                (step.op, step.len) = (Op::List, u32::try_from(cells.len()).ok()?);
                step.at = self.list(leaf.dtype, cells)?;
            }
            Test::Lookup(table) => {
                (step.op, step.len) = (Op::Lookup, table.codes);
                step.at = u32::try_from(self.lists.len()).ok()?;
                self.lists.extend_from_slice(&table.words);
            }
            Test::Bools { on_false, on_true } => {
                let (on_false, on_true) = (*on_false != leaf.negate, *on_true != leaf.negate);
                (step.op, step.flags) = match (on_false, on_true) {
                    (false, true) => (Op::Bits, valid),
                    (true, false) => (Op::Bits, valid | NEGATE),
                    (true, true) => (Op::All, valid),
                    (false, false) => (Op::All, INVERT),
                };
            }
            Test::Unknown => (step.op, step.flags) = (Op::All, INVERT),
            Test::Null | Test::NotNull => {
                let invert = if leaf.test == Test::Null { INVERT } else { 0 };
                (step.op, step.flags) = (Op::All, valid | invert);
                if leaf.dtype.is_float() {
                    // Every number is in this range and NaN is not.
                    step.op = Op::Range;
                    (step.low, step.high) = match leaf.dtype {
                        DType::F64 => (f64::NEG_INFINITY.to_bits(), f64::INFINITY.to_bits()),
                        _ => (
                            u64::from(f32::NEG_INFINITY.to_bits()),
                            u64::from(f32::INFINITY.to_bits()),
                        ),
                    };
                }
            }
        }
        if let Some(slot) = guard.filter(|_| step.op != Op::All) {
            step.flags |= GUARD;
            step.b = slot;
        }
        self.steps.push(step);
        Some(())
    }

    /// Appends a list of cells, at an even word so that cells of 8 bytes are aligned.
    fn list(&mut self, dtype: DType, cells: &[u64]) -> Option<u32> {
        if self.lists.len() % 2 == 1 {
            self.lists.push(0);
        }
        let at = u32::try_from(self.lists.len()).ok()?;
        match dtype.words(1) {
            2 => self.lists.extend(cells.iter().flat_map(|c| [*c as u32, (*c >> 32) as u32])),
            _ => self.lists.extend(cells.iter().map(|c| *c as u32)),
        }
        Some(at)
    }

    /// The program as the kernel reads it: the steps, then the lists.
    pub fn words(&self) -> Vec<u32> {
        let lists_at = (self.steps.len() * STEP_WORDS) as u32;
        let mut words = Vec::with_capacity(self.steps.len() * STEP_WORDS + self.lists.len());
        for s in &self.steps {
            let [op, dtype] = [s.op as u32, s.dtype.number()];
            words.extend([
                op | dtype << 8 | u32::from(s.column) << 16 | u32::from(s.flags) << 24,
                u32::from(s.to) | u32::from(s.a) << 8 | u32::from(s.b) << 16,
                s.low as u32,
                (s.low >> 32) as u32,
                s.high as u32,
                (s.high >> 32) as u32,
                lists_at + s.at,
                s.len,
            ]);
        }
        words.extend_from_slice(&self.lists);
        words
    }
}

impl Instruction {
    const fn new(to: usize) -> Self {
        Self {
            op: Op::All,
            dtype: DType::U32,
            column: 0,
            flags: 0,
            to: to as u8,
            a: 0,
            b: 0,
            low: 0,
            high: 0,
            at: 0,
            len: 0,
        }
    }
}
