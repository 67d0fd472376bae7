// Starts what tries to stay when its command ends, in the way its first argument names, and then serves.
// Second argument: a marker to find the processes by. Everything ends by itself within a minute.
import { spawn } from 'node:child_process';

const [, , way, marker] = process.argv;
const stubborn = `for (const s of ['SIGHUP', 'SIGTERM', 'SIGINT']) process.on(s, () => {}); setTimeout(() => {}, 60_000);`;
const node = [process.execPath, '-e', stubborn, marker];
const away = { stdio: 'ignore', detached: true };
const started = (child) => new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
const ended = (child) => new Promise((resolve) => child.once('exit', resolve));

const ways = {
  // In a session of its own, as browsers are started.
  session: () => started(spawn(node[0], node.slice(1), away)),
  // A daemon: its parent is gone, its session new, its pipes closed.
  daemon: () => ended(spawn('sh', ['-c', 'setsid "$@" </dev/null >/dev/null 2>&1 &', 'sh', ...node], away)),
  // In a session of its own, without the environment it was given; its parent lives.
  bare: () => started(spawn(node[0], node.slice(1), { ...away, env: {} })),
  // A bounded bomb: two hundred, half of them in sessions of their own. The marker has to be digits.
  many: () =>
    ended(
      spawn('sh', ['-c', `i=0; while [ $i -lt 100 ]; do i=$((i+1)); sleep 50.$0 & setsid sleep 50.$0 & done`, marker], {
        stdio: 'ignore',
      }),
    ),
  // Does not care that its input ends, nor for signals.
  deaf: async () => {
    for (const signal of ['SIGHUP', 'SIGTERM', 'SIGINT']) process.on(signal, () => {});
    setTimeout(() => {}, 60_000);
  },
};

await ways[way]();
await import('./server.mjs');
