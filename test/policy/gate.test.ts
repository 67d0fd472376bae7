import { describe, expect, it } from 'vitest';
import type { Tool } from '../../src/catalog/tool.ts';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import { isGated, requireOpen } from '../../src/policy/gate.ts';
import { readTools } from '../catalog/read-tools.ts';

const server = (gated: UpstreamServer['gated']): UpstreamServer => ({ name: 's', gated }) as UpstreamServer;
function tool(name: string, annotations?: Record<string, unknown>): Tool {
  const [read] = readTools([{ name, annotations }]).tools;
  if (read === undefined) throw new Error('no tool');
  return read;
}

describe('gate', () => {
  it('gates nothing unless asked to', () => {
    for (const gated of [undefined, false] as const) expect(isGated(server(gated), tool('drop'))).toBe(false);
  });

  it('gates every tool, or those whose names fit', () => {
    expect(isGated(server(true), tool('read', { readOnlyHint: true }))).toBe(true);
    expect(isGated(server(['create_*']), tool('create_issue'))).toBe(true);
    expect(isGated(server(['create_*']), tool('list_issues'))).toBe(false);
  });

  it('takes a missing hint for the worse case', () => {
    expect(isGated(server('not-read-only'), tool('a'))).toBe(true);
    expect(isGated(server('not-read-only'), tool('a', { readOnlyHint: true }))).toBe(false);
    expect(isGated(server('destructive'), tool('a'))).toBe(true);
    expect(isGated(server('destructive'), tool('a', { destructiveHint: false }))).toBe(false);
    expect(isGated(server('destructive'), tool('a', { readOnlyHint: true }))).toBe(false);
    expect(isGated(server('not-read-only'), tool('a', { readOnlyHint: 'true' }))).toBe(true);
    expect(isGated(server('destructive'), tool('a', { destructiveHint: 0 }))).toBe(true);
  });

  it('does not run what an admin wanted to be asked about', () => {
    expect(() => requireOpen(server(true), tool('a'))).toThrow(expect.objectContaining({ code: 'approval_required' }));
    expect(() => requireOpen(server(false), tool('a'))).not.toThrow();
  });
});
