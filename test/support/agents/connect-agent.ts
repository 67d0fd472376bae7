// Connects a client of the wanted kind.
import type { Agent, AgentHeaders, AgentKind } from './agent.ts';
import { connectRaw } from './raw-agent.ts';
import { connectSdk1 } from './sdk1-agent.ts';
import { connectSdk2 } from './sdk2-agent.ts';

export function connectAgent(kind: AgentKind, url: string, headers: AgentHeaders = {}): Promise<Agent> {
  switch (kind) {
    case 'sdk1':
      return connectSdk1(url, headers);
    case 'sdk2Legacy':
    case 'sdk2Modern':
      return connectSdk2(kind, url, headers);
    case 'rawLegacy':
    case 'rawModern':
      return connectRaw(kind, url, headers);
  }
}
