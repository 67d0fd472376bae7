// A server that asks its client something on the call's own stream, and ends the call with what it was told.
import type { Fault, FaultEntry } from './fault.ts';
import { type JsonObject, resultText } from './message.ts';
import { textResult } from './plain-answer.ts';
import { eventText, startEvents } from './responses.ts';

const ask = (method: string, params?: JsonObject): FaultEntry => {
  const fault: Fault = ({ res, id, state, nth }) => {
    const askId = `ask-${nth}`;
    startEvents(res);
    res.write(eventText(JSON.stringify({ jsonrpc: '2.0', id: askId, method, params })));
    state.asked.set(askId, (answer) => {
      state.asked.delete(askId);
      res.end(eventText(resultText(id, textResult(state, JSON.stringify(answer['result'] ?? answer['error'])))));
    });
    res.once('close', () => state.asked.delete(askId));
  };
  return { on: 'tools/call', fault };
};

export const serverRequests = {
  'asks-elicitation': ask('elicitation/create', {
    message: 'Which colour?',
    requestedSchema: { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] },
  }),
  'asks-sampling': ask('sampling/createMessage', {
    messages: [{ role: 'user', content: { type: 'text', text: 'Say yes' } }],
    maxTokens: 5,
  }),
  'asks-ping': ask('ping'),
  'asks-roots': ask('roots/list'),
} as const;
