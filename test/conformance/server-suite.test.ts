import { describe, expect, it } from 'vitest';
import { countPassed, type Judgement, lostOnTheWay, problemsIn } from '../../conformance/server-suite.ts';

const judgement = (
  ...checks: readonly (readonly [id: string, status: string, errorMessage?: string])[]
): Judgement => ({
  checks: checks.map(([id, status, errorMessage]) => ({
    id,
    name: id,
    description: `what ${id} is about`,
    status,
    ...(errorMessage === undefined ? {} : { errorMessage }),
  })),
});

describe('what is lost on the way through the proxy', () => {
  it('is nothing when the same checks pass', () => {
    const alone = judgement(['a', 'SUCCESS'], ['b', 'FAILURE'], ['c', 'INFO']);
    expect(lostOnTheWay(alone, judgement(['a', 'SUCCESS'], ['b', 'FAILURE']))).toEqual([]);
  });

  it('is a check that passes alone and fails, or is only warned about, through it', () => {
    const alone = judgement(['a', 'SUCCESS'], ['b', 'SUCCESS']);
    expect(lostOnTheWay(alone, judgement(['a', 'FAILURE', 'it broke'], ['b', 'WARNING', 'it creaked']))).toEqual([
      'a: it broke',
      'b: it creaked',
    ]);
  });

  it('is a check that is not even reached', () => {
    expect(lostOnTheWay(judgement(['a', 'SUCCESS']), judgement())).toEqual(['a: not seen: what a is about']);
  });

  it('is a check that is skipped, and none that the suite only notes', () => {
    const alone = judgement(['a', 'SUCCESS'], ['b', 'SUCCESS']);
    expect(lostOnTheWay(alone, judgement(['a', 'INFO'], ['b', 'SKIPPED']))).toEqual(['b: not seen: what b is about']);
  });

  it('is one of several checks of the same name', () => {
    const alone = judgement(['a', 'SUCCESS'], ['a', 'SUCCESS'], ['a', 'SUCCESS']);
    expect(lostOnTheWay(alone, judgement(['a', 'SUCCESS'], ['a', 'FAILURE', 'it broke'], ['a', 'SUCCESS']))).toEqual([
      'a: it broke',
    ]);
    expect(countPassed(alone)).toBe(3);
  });
});

it('calls a warning a problem, and what only informs none', () => {
  expect(
    problemsIn(judgement(['a', 'WARNING', 'it creaked'], ['b', 'INFO'], ['c', 'SUCCESS'], ['d', 'FAILURE'])),
  ).toEqual(['a: it creaked', 'd: what d is about']);
});
