// Serves, and from the first call of any tool on writes without end what its first argument names. As every
// program here it ends by itself within a minute.
import { randomBytes } from 'node:crypto';

const repeat = (text) => Buffer.from(text.repeat(Math.ceil(65_536 / text.length)));
const floods = {
  unended: [process.stdout, Buffer.alloc(65_536, 'x')],
  empty: [process.stdout, Buffer.alloc(65_536, '\n')],
  strays: [process.stdout, repeat('{"a":1}\n')],
  notices: [process.stdout, repeat('{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}\n')],
  large: [
    process.stdout,
    Buffer.from(
      `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":[${'{"a":1},'.repeat(480_000)}1]}}\n`,
    ),
  ],
  answers: [process.stdout, repeat('{"jsonrpc":"2.0","id":987654321,"result":{}}\n')],
  garbage: [process.stdout, randomBytes(65_536)],
  stderr: [process.stderr, repeat('complaint\n')],
};

const [, , kind] = process.argv;
const flood = () => {
  const [stream, bytes] = floods[kind];
  const more = () => {
    while (stream.write(bytes));
    stream.once('drain', more);
  };
  setTimeout(more, 20);
};
let isFlooding = false;
await import('./server.mjs');
process.stdin.on('data', (chunk) => {
  if (isFlooding || !chunk.includes('tools/call')) return;
  isFlooding = true;
  flood();
});
