// A tenant whose person is connected already, by tokens taken over, so that a test begins where it is about.
import type { RawAgent } from '../support/agents/raw-agent.ts';
import type { Era, RawKind, Scene } from '../support/scene.ts';
import { type SignInWishes, type SignInWorld, signInWorld } from '../support/sign-in/sign-in-scene.ts';

export interface Granted extends SignInWorld {
  readonly agent: RawAgent;
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Takes over other tokens, by default good ones of ada. */
  importTokens(more?: ImportWishes): Promise<void>;
}

export interface ImportWishes {
  readonly principal?: string;
  readonly expiresIn?: number | undefined;
  readonly scopes?: readonly string[];
  readonly withoutRefresh?: boolean;
}

export async function aGrantedPerson(
  scene: Scene,
  era: Era,
  kind: RawKind,
  wishes: SignInWishes & { readonly tokens?: ImportWishes } = {},
): Promise<Granted> {
  const world = await signInWorld(scene, era, {
    ...wishes,
    as: { rotation: 'strict', ...wishes.as },
    oauth: { clientId: 'by-hand', ...wishes.oauth },
  });
  const { as, mcp, tenant } = world;
  as.addClient({ clientId: 'by-hand' });
  const tokens = { accessToken: '', refreshToken: '' };
  const importTokens = async ({ principal = 'ada', scopes = [], ...more }: ImportWishes = {}): Promise<void> => {
    Object.assign(tokens, as.issue({ subject: principal, scopes, resource: mcp.url }));
    const oauth = {
      accessToken: tokens.accessToken,
      ...(more.withoutRefresh === true ? {} : { refreshToken: tokens.refreshToken }),
      ...('expiresIn' in more ? { expiresIn: more.expiresIn } : { expiresIn: 3_600 }),
      scope: scopes.join(' '),
    };
    const path = `/tenants/${tenant.id}/servers/notes/credentials/${encodeURIComponent(principal)}`;
    await scene.app.adminOk('PUT', path, { oauth });
  };
  await importTokens(wishes.tokens);
  return { ...world, agent: await tenant.raw(kind, 'ada'), ...tokens, importTokens };
}
