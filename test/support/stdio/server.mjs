// A stdio server in plain Node whose tools do what tests need. It knows nothing of our code.
import { closeSync } from 'node:fs';
import { createInterface } from 'node:readline';

// Whatever happens, it ends by itself.
setTimeout(() => process.exit(9), 60_000).unref();

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value) => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
});
const cancelled = [];
const asked = new Map();
let held = [];
let nextAsk = 1;

const tools = {
  echo: (id, { value }) => write({ id, result: text(value) }),
  env: (id) => write({ id, result: text({ ...process.env }) }),
  // Backwards, in which form nobody takes a secret out of it.
  sdrawkcab: (id, { name }) => write({ id, result: text([...process.env[name]].reverse().join('')) }),
  user: (id) =>
    write({ id, result: text({ uid: process.getuid(), gid: process.getgid(), groups: process.getgroups() }) }),
  argv: (id) => write({ id, result: text(process.argv.slice(2)) }),
  pid: (id) => write({ id, result: text(String(process.pid)) }),
  // Answers in reverse order as soon as `count` calls wait.
  reverse(id, { value, count }) {
    held.push({ id, result: text(value) });
    if (held.length < count) return;
    for (const message of held.reverse()) write(message);
    held = [];
  },
  stopReading: () => process.stdin.pause(),
  // Never answers.
  hang: () => undefined,
  cancelled: (id) => write({ id, result: text(cancelled) }),
  die: () => process.exit(3),
  // As programs do that print what they choked on.
  crash(id, { lines }) {
    throw new Error(lines.join('\n'));
  },
  noisy(id, { bytes }) {
    const line = `${'x'.repeat(99)}\n`;
    process.stderr.write(line.repeat(bytes / 100), () => write({ id, result: text('done') }));
  },
  complain(id, { lines }) {
    process.stderr.write(lines.map((line) => `${line}\n`).join(''), () => write({ id, result: text('done') }));
  },
  stray(id, { line }) {
    process.stdout.write(`${line}\n`);
    write({ id, result: text('done') });
  },
  // Its answer leaves in two writes, the cut inside a character.
  split(id, { value }) {
    const bytes = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, result: text(value) })}\n`);
    const cut = bytes.indexOf(0xf0) + 2;
    process.stdout.write(bytes.subarray(0, cut));
    setTimeout(() => process.stdout.write(bytes.subarray(cut)), 50);
  },
  broken(id) {
    const bytes = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, result: text('a?b') })}\n`);
    bytes[bytes.indexOf(0x3f)] = 0xff;
    process.stdout.write(bytes);
  },
  huge(id, { bytes }) {
    write({ id, result: text('h'.repeat(bytes)) });
  },
  raw: (id, { line }) => process.stdout.write(`${line.replaceAll('ID', String(id))}\n`),
  progress(id, { steps }, meta) {
    for (let i = 1; i <= steps; i++)
      write({ method: 'notifications/progress', params: { progressToken: meta?.progressToken, progress: i } });
    write({ id, result: text({ token: meta?.progressToken }) });
  },
  forge(id, { token }) {
    write({ method: 'notifications/progress', params: { progressToken: token, progress: 1 } });
    write({ id, result: text('done') });
  },
  log(id) {
    write({ method: 'notifications/message', params: { level: 'info', data: 'about one call' } });
    write({ id, result: text('done') });
  },
  changed(id) {
    write({ method: 'notifications/tools/list_changed' });
    write({ id, result: text('done') });
  },
  // Asks the client something and tells what it said; `askId` is this side's own number.
  ask(id, { method, askId }) {
    const own = askId ?? nextAsk++;
    asked.set(own, (answer) => write({ id, result: text(answer) }));
    write({ id: own, method, params: {} });
  },
  // Asks with the id of a call that hangs, and then takes its own question back.
  askAndCancel(id, { askId }) {
    asked.set(askId, () => {
      write({ method: 'notifications/cancelled', params: { requestId: askId } });
      write({ id, result: text('done') });
    });
    write({ id: askId, method: 'sampling/createMessage', params: {} });
  },
  // Lives on without a voice.
  closeOutput() {
    closeSync(1);
    setInterval(() => {}, 1000);
  },
  closeInputAndExit(id) {
    write({ id, result: text('done') });
    process.stdin.destroy();
    setTimeout(() => process.exit(0), 100);
  },
};

const requests = {
  initialize: (id, params) =>
    write({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'fixture', version: '1' },
      },
    }),
  ping: (id) => write({ id, result: {} }),
  'tools/list': (id) =>
    write({ id, result: { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) } }),
  'tools/call': (id, { name, arguments: args, _meta }) => tools[name](id, args ?? {}, _meta),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, ...rest } = JSON.parse(line);
  if (method === undefined) asked.get(id)?.({ ...rest });
  else if (method === 'notifications/cancelled') cancelled.push(params);
  else if (id !== undefined) requests[method](id, params);
});
