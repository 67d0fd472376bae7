// The one way out as tests of single links use it: past the guard, with loopback allowed as an operator would.
import type { Dispatcher } from 'undici';
import { createCheckOrigin } from '../../src/upstream/egress/check-origin.ts';
import type { ConnectorDeps } from '../../src/upstream/egress/connector.ts';
import { createNetDial } from '../../src/upstream/egress/dial.ts';
import { type DoorOptions, openDoor } from '../../src/upstream/egress/dispatcher.ts';
import { createPolicy, type EgressSettings } from '../../src/upstream/egress/policy.ts';
import { createResolve } from '../../src/upstream/egress/resolve.ts';
import { FakeClock } from './fake-clock.ts';

export const LOOPBACK_ALLOWED: EgressSettings = {
  allow: ['127.0.0.0/8', '::1'],
  allowHttp: true,
  ports: [443, 8443],
  nat64: false,
};

export const loopbackPolicy = createPolicy(LOOPBACK_ALLOWED);

export function doorRules(changes: Partial<ConnectorDeps> = {}): ConnectorDeps {
  const clock = changes.clock ?? new FakeClock();
  return {
    policy: loopbackPolicy,
    resolve: createResolve(clock),
    dial: createNetDial(clock),
    ownAddresses: () => [],
    onDenied: () => undefined,
    clock,
    ...changes,
  };
}

export function openTestDoor(changes: Partial<DoorOptions> = {}): Dispatcher {
  const rules = doorRules(changes);
  return openDoor({ socketsPerOrigin: 4, ...rules, checkOrigin: createCheckOrigin(rules), ...changes });
}
