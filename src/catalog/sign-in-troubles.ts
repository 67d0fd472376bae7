// Servers where nobody could find out how to sign in, the last time somebody was about to: for admins, who
// would read no more than that nobody has signed in yet. Each node knows what it has met itself.
import { withCause } from '../shared/cause-words.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import type { Registry } from './registry.ts';
import { createServerNotes } from './server-notes.ts';
import type { LastError } from './server-status.ts';
import type { UpstreamServer } from './upstream-server.ts';

export interface SignInTroubles {
  readonly failed: (server: UpstreamServer, error: unknown) => void;
  readonly found: (server: UpstreamServer) => void;
  readonly troubleOf: (server: UpstreamServer) => LastError | undefined;
}

export function createSignInTroubles(registry: Pick<Registry, 'known' | 'onChange'>, clock: Clock): SignInTroubles {
  const notes = createServerNotes<LastError>(registry);
  return {
    failed(server, error) {
      if (!notes.isRegistered(server)) return;
      const said = error instanceof ProxyError && error.code !== 'internal' ? error.message : 'Something went wrong.';
      const sentence = `How to sign in there was not found out: ${said}`;
      notes.keep(server, { sentence, text: withCause(sentence, error), at: clock.now() });
    },
    found: (server) => notes.keep(server, undefined),
    troubleOf: (server) => notes.find(server),
  };
}
