// What the tools of a keyed server do. Each one says whose key its call came with.
import { type Exchange, questionsTo } from './keyed-exchange.ts';
import { announceListChange } from './keyed-streams.ts';
import { type JsonObject, objectAt } from './message.ts';

type Tool = (exchange: Exchange, args: JsonObject) => void;

const textResult = (text: string, rest: JsonObject = {}): string =>
  JSON.stringify({ content: [{ type: 'text', text }], ...rest });

const numberOf = (args: JsonObject, key: string): number => Number(args[key] ?? 0);

const whoami: Tool = (exchange, args) => {
  const { principal: who, session } = exchange.asked;
  exchange.result(
    textResult(`who=${who};session=${session};args=${JSON.stringify(args)}`, {
      structuredContent: { who, session, args },
    }),
  );
};

const progress: Tool = (exchange, args) => {
  const total = numberOf(args, 'count');
  const token = objectAt(exchange.asked.message.params, '_meta')['progressToken'];
  // Beside the progress: a line for the log, and questions that the proxy has to keep to itself.
  if (args['chatty'] === true) {
    const data = { who: exchange.asked.principal, question: args['question'] };
    exchange.notify('notifications/message', { level: 'info', data });
    if (exchange.asked.era === 'legacy')
      for (const one of questionsTo(exchange.asked.principal))
        exchange.ask(`${one.method} of ${String(args['question'])}`, one);
  }
  const step = (done: number): void => {
    if (done > total) return whoami(exchange, args);
    if (token !== undefined) {
      const message = `${exchange.asked.principal} ${done}`;
      exchange.notify('notifications/progress', { progressToken: token, progress: done, total, message });
    }
    exchange.later(numberOf(args, 'everyMs'), () => step(done + 1));
  };
  step(1);
};

/** Fields, block kinds and numbers that no schema of today knows; they have to arrive as they are. */
export const UNKNOWN_FIELDS =
  '{"content":[{"type":"text","text":"known","x-new":{"deep":[1,null]},"_meta":{"block":true}},' +
  '{"type":"hologram","voxels":"AAAA","big":123456789012345678901234567890}],' +
  '"structuredContent":{"big":9007199254740993,"float":1.0,"exp":1e400},' +
  '"x-future":{"a":"\\u0000\\ud83d\\ude00","":0},"_meta":{"vendor/key":"kept","n":18446744073709551615}}';

export const UNICODE = 'é ß 漢字 🏴󠁧󠁢󠁳󠁣󠁴󠁿 \u2028\u2029 "quoted" \\ tab\t nul\u0000 rtl\u202e';

const changeList =
  (change: (exchange: Exchange, name: string) => void): Tool =>
  (exchange, args) => {
    const name = String(args['name']);
    change(exchange, name);
    exchange.result(textResult(name));
    announceListChange(exchange.asked.state);
  };

const tools: Readonly<Record<string, Tool>> = {
  whoami,
  progress,
  echo: (exchange, args) => exchange.result(textResult(JSON.stringify(args))),
  slow: (exchange, args) => exchange.later(numberOf(args, 'ms'), () => whoami(exchange, args)),
  never: () => {},
  fail: (exchange) => exchange.result(textResult('the tool itself failed', { isError: true })),
  rpc_error: (exchange) => exchange.error(-32602, 'These arguments do not fit', { field: 'colour', allowed: ['red'] }),
  big: (exchange, args) => exchange.result(textResult('x'.repeat(numberOf(args, 'bytes')))),
  unicode: (exchange) => exchange.result(textResult(UNICODE)),
  unknown_fields: (exchange) => exchange.result(UNKNOWN_FIELDS),
  regional: whoami,
  add_tool: changeList(({ asked: { state } }, name) => state.addTool(name)),
  remove_tool: changeList(({ asked: { state } }, name) => state.removeTool(name)),
};

export const TOOL_NAMES: readonly string[] = Object.keys(tools);

export function callTool(exchange: Exchange): void {
  const { state, message } = exchange.asked;
  const name = String(message.params['name']);
  const run = Object.hasOwn(tools, name) ? tools[name] : whoami;
  state.ran(name);
  run?.(exchange, objectAt(message.params, 'arguments'));
}
