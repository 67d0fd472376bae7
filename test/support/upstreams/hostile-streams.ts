// Event streams that never come to the point, or bring more than the answer.
import { type AnswerAttacks, GOOD, lines, once, pour, stream } from './answer-attack.ts';
import { resultText } from './message.ts';
import { eventText, startEvents } from './responses.ts';

const storm = once(() =>
  Buffer.from(
    eventText('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"again"}}').repeat(
      600,
    ),
  ),
);
const comments = Buffer.from(': still here\n\n'.repeat(1_000));

export const STREAMS: AnswerAttacks = {
  'signs of life without end': {
    answer: ({ res }) => {
      startEvents(res);
      const timer = setInterval(() => res.write(comments), 5);
      res.once('close', () => clearInterval(timer));
    },
    outcome: 'upstream_timeout',
  },
  'a storm of notifications': {
    answer: ({ res }) => {
      startEvents(res);
      pour(res, storm());
    },
    outcome: 'upstream_timeout',
  },
  'a notification of 15 MB': {
    answer: ({ res, id }) => {
      startEvents(res);
      const params = `{${lines(1_000_000, (nth) => `"k${nth}":1`)}}`;
      res.write(eventText(`{"jsonrpc":"2.0","method":"notifications/message","params":${params}}`));
      res.end(eventText(resultText(id, GOOD)));
    },
    outcome: 'served',
  },
  'ten thousand questions': {
    answer: stream(({ id }) => [
      ...Array.from({ length: 10_000 }, (_, nth) => `{"jsonrpc":"2.0","id":${nth},"method":"ping"}`),
      resultText(id, GOOD),
    ]),
    outcome: 'served',
  },
  'answers to requests that nobody made, and the answer twice': {
    answer: stream(({ id }) => [
      ...Array.from({ length: 2_000 }, (_, nth) => resultText(500_000 + nth, '{"content":[]}')),
      resultText(id, GOOD),
      resultText(id, '{"content":[{"type":"text","text":"second"}]}'),
    ]),
    outcome: 'served',
  },
};
