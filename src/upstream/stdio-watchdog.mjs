// A program of its own, which outlives the proxy for some seconds: when its input ends and nobody said
// goodbye, the proxy was killed, and what the proxy's commands left behind is ended here. It is plain
// JavaScript, so that it starts alike before and after the build, and it knows nothing of the rest.
//
// Arguments: the first part of the mark in the environment of everything that came of these commands;
// then 'live' or 'left'. Input: `+ <group> <start>` for a command that began, `- <group>` for one that
// is gone with all it started, `q` for goodbye. With 'left' the proxy died long ago.
import { readdirSync, readFileSync } from 'node:fs';

const [, , run = '', mode] = process.argv;
const MARK = `CHILD_OF_KEYBEARER=${run}.`;
const GRACE_MS = 1_000;
const AGAIN_MS = 100;
const KILL_MS = 2_500;

/** @type {Map<number, number>} */
const groups = new Map();
let isGoodbye = false;

/** @param {string} line */
function take(line) {
  const [, verb, group, start] = /^([+\-q])(?: (\d{1,10}))?(?: (\d{1,15}))?$/.exec(line) ?? [];
  if (verb === '+' && group !== undefined) groups.set(Number(group), Number(start));
  else if (verb === '-') groups.delete(Number(group));
  else if (verb === 'q') isGoodbye = true;
}

/** @param {string} path */
function textOf(path) {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function listProcesses() {
  /** @type {string[]} */
  let names = [];
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    // Not Linux.
  }
  return names
    .map((name) => {
      const stat = textOf(`/proc/${name}/stat`);
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return {
        pid: Number(name),
        isAlive: stat !== '' && fields[0] !== 'Z' && fields[0] !== 'X',
        parent: Number(fields[1]),
        group: Number(fields[2]),
        start: Number(fields[19]),
      };
    })
    .filter(({ pid, isAlive }) => isAlive && pid !== process.pid);
}

/** Pids of what is ours beyond doubt: a number alone may be a stranger's by now. */
function findOurs() {
  const all = listProcesses();
  const starts = new Map(all.map(({ pid, start }) => [pid, start]));
  /** @param {number} group */
  const isOurGroup = (group) => {
    if (!groups.has(group)) return false;
    const leader = starts.get(group);
    // A group keeps its number to its last member; whoever watched all the time knows it is the same.
    return leader === undefined ? mode === 'live' : leader === groups.get(group);
  };
  const isMarked = (/** @type {number} */ pid) => `\0${textOf(`/proc/${pid}/environ`)}`.includes(`\0${MARK}`);
  const ours = new Set(all.filter(({ pid, group }) => isOurGroup(group) || isMarked(pid)).map(({ pid }) => pid));
  for (let before = -1; before < ours.size; ) {
    before = ours.size;
    for (const { pid, parent } of all) if (ours.has(parent)) ours.add(pid);
  }
  const whole = new Set(all.filter(({ pid, group }) => ours.has(pid) && isOurGroup(group)).map(({ group }) => group));
  return { ours, whole };
}

/** @param {NodeJS.Signals} signal */
function end(signal) {
  const { ours, whole } = findOurs();
  if (process.platform !== 'linux' && mode === 'live') for (const group of groups.keys()) whole.add(group);
  // Groups first and as a whole, so that nothing in them can fork away.
  for (const pid of [...[...whole].map((group) => -group), ...(signal === 'SIGKILL' ? ours : outside(ours, whole))]) {
    try {
      process.kill(pid, signal);
    } catch {
      // Gone already.
    }
  }
  return ours.size;
}

/** @param {Set<number>} ours @param {Set<number>} whole */
function outside(ours, whole) {
  return listProcesses()
    .filter(({ pid, group }) => ours.has(pid) && !whole.has(group))
    .map(({ pid }) => pid);
}

function endAll() {
  if (end('SIGTERM') === 0 && process.platform === 'linux') process.exit(0);
  const killFrom = Date.now() + GRACE_MS;
  const timer = setInterval(() => {
    const left = Date.now() < killFrom ? findOurs().ours.size : end('SIGKILL');
    const isOver = Date.now() > killFrom + KILL_MS || (left === 0 && process.platform === 'linux');
    if (!isOver) return;
    clearInterval(timer);
    process.exit(0);
  }, AGAIN_MS);
}

// Whoever ends the whole service tells us too, and the proxy may still be ending its commands.
for (const signal of /** @type {const} */ (['SIGHUP', 'SIGINT', 'SIGTERM'])) process.on(signal, () => {});

let text = '';
process.stdin.setEncoding('latin1');
process.stdin.on('data', (chunk) => {
  const lines = `${text}${chunk}`.split('\n');
  text = lines.pop() ?? '';
  for (const line of lines) take(line);
});
process.stdin.on('end', () => {
  if (isGoodbye) process.exit(0);
  endAll();
});
process.stdin.on('error', () => endAll());
