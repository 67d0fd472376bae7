// Skipped on purpose: test/pins/test-security.test.ts reads what a run says of them at its end.
import { describe, expect, it } from 'vitest';

it('runs', () => expect(1).toBe(1));

describe.skipIf(true)('with a thing (skipped where it is missing)', () => {
  it('one', () => expect(1).toBe(1));
  it('two', () => expect(1).toBe(1));
});

it.skipIf(true)('alone (skipped for a reason of its own)', () => expect(1).toBe(1));
