// Answers whose HTTP does not fit together: lengths, status codes, heads before the head.
import { type AnswerAttacks, bare, GOOD, HEAD, JSON_TYPE } from './answer-attack.ts';
import { resultText } from './message.ts';

export const FRAMING: AnswerAttacks = {
  'fewer bytes than promised': {
    answer: bare((socket, { id }) => {
      socket.write(`${HEAD}content-length: 100000\r\n\r\n${resultText(id, GOOD)}`);
      socket.end();
    }),
    outcome: 'upstream_unavailable',
  },
  'more bytes than promised': {
    answer: bare((socket, { id }) => {
      const text = resultText(id, GOOD);
      socket.write(`${HEAD}content-length: ${text.length}\r\n\r\n${text}${HEAD}content-length: 2\r\n\r\n{}`);
    }),
    outcome: 'served',
  },
  'two lengths at once': {
    answer: bare((socket, { id }) => {
      const text = resultText(id, GOOD);
      socket.write(
        `${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
      );
    }),
    outcome: 'upstream_unavailable',
  },
  'ten thousand early hints': {
    answer: bare((socket, { id }) => {
      const text = resultText(id, GOOD);
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(10_000));
      socket.end(`${HEAD}content-length: ${text.length}\r\n\r\n${text}`);
    }),
    outcome: 'served',
  },
  'a 204 with a body': {
    answer: bare((socket, { id }) => {
      const text = resultText(id, GOOD);
      socket.write(
        `HTTP/1.1 204 No Content\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
      );
    }),
    outcome: 'upstream_unavailable',
  },
  'a 205 with a body': {
    answer: ({ res, id }) => {
      res.writeHead(205, JSON_TYPE);
      res.end(resultText(id, GOOD));
    },
    outcome: 'upstream_protocol',
  },
  'a part of an answer (206)': {
    answer: ({ res, id }) => {
      res.writeHead(206, { ...JSON_TYPE, 'content-range': 'bytes 0-99/5000' });
      res.end(resultText(id, GOOD));
    },
    outcome: 'upstream_protocol',
  },
};
