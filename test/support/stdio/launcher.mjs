// Starts through a shell what ignores every polite signal and does not read its input, then serves.
// Arguments: a marker to find the processes by, and 'silent' when it should never answer.
import { spawn } from 'node:child_process';

const [, , marker, mode] = process.argv;
const stubborn = `for (const s of ['SIGHUP', 'SIGTERM', 'SIGINT']) process.on(s, () => {}); setTimeout(() => {}, 60_000); console.error('stubborn')`;
const shell = spawn('sh', ['-c', '"$0" -e "$1" "$2" & wait', process.execPath, stubborn, marker], {
  stdio: ['ignore', 'ignore', 'pipe'],
});
await new Promise((resolve) => shell.stderr.once('data', resolve));
shell.stderr.destroy();
if (mode === 'silent') {
  console.error('ready');
  setTimeout(() => {}, 60_000);
} else {
  shell.unref();
  await import('./server.mjs');
}
