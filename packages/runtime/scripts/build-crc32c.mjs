// Assembles the WebAssembly module behind src/crc32c.ts and writes it to src/crc32c-module.ts (`--print`: to standard output).
// No compiler is needed: the module is one function, put together here instruction by instruction.
//
//   crc(state: i32, at: i32, length: i32) -> i32     the CRC register over memory[at, at + length), "slicing by 16"
//
// Memory: 16 tables of 256 32-bit words from 0 (filled in by src/crc32c.ts), data from 64 KiB on. Exports: `memory`, `crc`.
// biome-ignore lint/style/noRestrictedImports: a build script, not part of the package.
import { writeFileSync } from 'node:fs';
import { argv, stdout } from 'node:process';

const i32 = 0x7f;
const voidBlock = 0x40;
const op = {
  block: 0x02,
  loop: 0x03,
  end: 0x0b,
  br: 0x0c,
  brIf: 0x0d,
  localGet: 0x20,
  localSet: 0x21,
  load: 0x28,
  load8u: 0x2d,
  constant: 0x41,
  eq: 0x46,
  add: 0x6a,
  and: 0x71,
  xor: 0x73,
  shl: 0x74,
  shrU: 0x76,
};

function unsigned(value) {
  const out = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) out.push((rest & 0x7f) | 0x80);
  return [...out, rest];
}

function signed(value) {
  const out = [];
  let rest = value;
  for (;;) {
    const byte = rest & 0x7f;
    rest >>= 7;
    if ((rest === 0 && (byte & 0x40) === 0) || (rest === -1 && (byte & 0x40) !== 0)) return [...out, byte];
    out.push(byte | 0x80);
  }
}

const get = (local) => [op.localGet, local];
const set = (local) => [op.localSet, local];
const constant = (value) => [op.constant, ...signed(value)];
const load = (offset) => [op.load, 2, ...unsigned(offset)];
const section = (id, body) => [id, ...unsigned(body.length), ...body];
const text = (value) => [...unsigned(value.length), ...Buffer.from(value)];

// Locals: three parameters, then the rest.
const [state, at, length, stop, word0, word1, word2, word3] = [0, 1, 2, 3, 4, 5, 6, 7];

/** The table's word for byte `index` of a word: its address is the byte times 4, so one shift and one mask make it. */
function lookUp(word, index, table) {
  const shift = index === 0 ? [...constant(2), op.shl] : [...constant(8 * index - 2), op.shrU];
  return [...get(word), ...shift, ...constant(0x3fc), op.and, ...load(table * 1024)];
}

function sixteenBytes() {
  const code = [];
  code.push(...get(at), ...load(0), ...get(state), op.xor, ...set(word0));
  for (const [i, word] of [word1, word2, word3].entries()) code.push(...get(at), ...load(4 * (i + 1)), ...set(word));
  // The words that do not wait for the state come first.
  const lookUps = [word3, word2, word1, word0].flatMap((word, i) => [3, 2, 1, 0].map((index) => lookUp(word, index, 4 * i + 3 - index)));
  for (const [i, lookUpCode] of lookUps.entries()) code.push(...lookUpCode, ...(i === 0 ? [] : [op.xor]));
  return [...code, ...set(state)];
}

function oneByte() {
  const index = [...get(at), op.load8u, 0, 0, ...get(state), op.xor, ...constant(2), op.shl, ...constant(0x3fc), op.and];
  return [...index, ...load(0), ...get(state), ...constant(8), op.shrU, op.xor, ...set(state)];
}

/** while (at !== stop) { body; at += step } */
function eachUntilStop(step, body) {
  const isDone = [...get(at), ...get(stop), op.eq, op.brIf, 1];
  return [op.block, voidBlock, op.loop, voidBlock, ...isDone, ...body, ...get(at), ...constant(step), op.add, ...set(at), op.br, 0, op.end, op.end];
}

const code = [
  ...[...get(at), ...get(length), ...constant(-16), op.and, op.add, ...set(stop)],
  ...eachUntilStop(16, sixteenBytes()),
  ...[...get(stop), ...get(length), ...constant(15), op.and, op.add, ...set(stop)],
  ...eachUntilStop(1, oneByte()),
  ...[...get(state), op.end],
];
const functionBody = [...[1, 5, i32], ...code];

const module = Buffer.from([
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
  ...section(1, [1, 0x60, 3, i32, i32, i32, 1, i32]),
  ...section(3, [1, 0]),
  ...section(5, [1, 0, 2]),
  ...section(7, [2, ...text('memory'), 2, 0, ...text('crc'), 0, 0]),
  ...section(10, [1, ...unsigned(functionBody.length), ...functionBody]),
]);

const source = `// Made by scripts/build-crc32c.mjs: do not edit.
export const crc32cModule =
  '${module.toString('base64')}';
`;
if (argv.includes('--print')) stdout.write(source);
else writeFileSync(new URL('../src/crc32c-module.ts', import.meta.url), source);
