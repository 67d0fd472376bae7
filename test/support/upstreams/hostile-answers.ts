// What a hostile server may answer to a call: by name, with what has to become of the call.
import type { AnswerAttacks } from './answer-attack.ts';
import { BODIES } from './hostile-bodies.ts';
import { FRAMING } from './hostile-framing.ts';
import { RESULTS } from './hostile-results.ts';
import { STREAMS } from './hostile-streams.ts';

export const ANSWERS: AnswerAttacks = { ...BODIES, ...STREAMS, ...RESULTS, ...FRAMING };
