import { describe, expect, it } from 'vitest';
import { createMethods } from '../../src/agent/methods.ts';
import type { Operations } from '../../src/proxy/operations.ts';

const nothing = (): never => {
  throw new Error('not asked for');
};
const OPERATIONS: Operations = { callTool: nothing, listTools: nothing };
const methods = createMethods(OPERATIONS, { name: 'keybearer', version: '1' }, { both: [], other: nothing });

describe('initialize', () => {
  it('keeps what the agent says it can do', () => {
    expect(methods.initialize({ capabilities: { sampling: {}, experimental: { x: 1 } } }).capabilities).toEqual({
      sampling: {},
      experimental: { x: 1 },
    });
    expect(methods.initialize({ capabilities: 'all' }).capabilities).toEqual({});
  });

  it('does not let a session hold as much as a request may have', () => {
    expect(() => methods.initialize({ capabilities: { experimental: { x: 'y'.repeat(17_000) } } })).toThrow(
      expect.objectContaining({ status: 400, code: -32602 }),
    );
  });
});
