// A command that says with whose key it was started, and which process it is.
import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const tools = ['whoami', 'die'].map((name) => ({ name, inputSchema: { type: 'object' } }));
// Not the key itself, which the proxy masks in what servers say.
const who = createHash('sha256').update(process.env.API_KEY).digest('hex');
const serverInfo = { name: 'command', version: '1' };

const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call'({ name, arguments: args }) {
    if (name === 'die') process.exit(3);
    return { content: [], structuredContent: { who, session: `pid ${process.pid}`, args } };
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  const answer = answers[method];
  if (answer === undefined) say({ id, error: { code: -32601, message: 'No such method' } });
  else say({ id, result: answer(params ?? {}) });
});
