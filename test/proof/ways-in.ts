// How the people of a tenant prove in a real browser who they are, and a tenant for each way: behind the front, with
// an upstream server whose authorization server says yes to whoever comes.
import { randomBytes } from 'node:crypto';
import type { Scene, TenantSide } from '../support/scene.ts';
import { type GuardedMcp, startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { startOidcAs } from '../support/sign-in/oidc-as.ts';
import { type ScriptedAs, startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { linkFrom, withOauth } from '../support/sign-in/sign-in-scene.ts';
import type { JsonObject } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';
import type { Person } from './chromium.ts';
import type { Front } from './front.ts';
import { startTenantProduct } from './tenant-product.ts';

type Mode = 'oidc' | 'handoff' | 'link';

interface Proof {
  readonly signIn: JsonObject;
  /** Where a browser comes back to once its person is proved. */
  readonly comesBackTo: string;
  /** On the pages of whoever knows the person. */
  prove(person: Person, name: string): Promise<void>;
}

export interface House {
  readonly as: ScriptedAs;
  readonly mcp: GuardedMcp;
  readonly tenant: TenantSide;
  readonly comesBackTo: string;
  /** A link made for this person's agent. */
  linkFor(name: string): Promise<string>;
  /** Opens a link and proves to be `name`; ends wherever that leads. */
  enter(person: Person, link: string, name: string): Promise<void>;
}

/** Who says yes there is `nextSubject` of the authorization server, whoever sits in front of the browser. */
export async function houseOf(scene: Scene, front: Front, mode: Mode): Promise<House> {
  const as = await scene.keep(startScriptedAs());
  const mcp = await scene.keep(startGuardedMcp({ era: 'modern', tokens: as }));
  const tenant = await scene.tenant({ notes: withOauth(mcp, {}, { title: 'Team Notes' }) });
  front.toward(scene.app, await scene.node());
  const proof = await PROOFS[mode](scene, front, tenant);
  await scene.app.adminOk('PATCH', `/tenants/${tenant.id}`, { signIn: proof.signIn });
  return {
    as,
    mcp,
    tenant,
    comesBackTo: proof.comesBackTo,
    linkFor: async (name) => linkFrom(await tenant.raw('rawModern', name)),
    async enter(person, link, name) {
      await person.open(link);
      await proof.prove(person, name);
    },
  };
}

/** The next browser that comes to be asked is not answered, and stays where it is; gives the address it came by. */
export async function catchAuthorize(as: ScriptedAs, visit: () => Promise<void>): Promise<string> {
  const came = new Promise<string>((resolve) =>
    as.once('authorize', async ({ params }) => {
      resolve(`${as.issuer}/authorize?${new URLSearchParams(params).toString()}`);
      return { status: 204 };
    }),
  );
  await visit();
  return within(came, 'a browser to be sent to sign in');
}

type MakeProof = (scene: Scene, front: Front, tenant: TenantSide) => Promise<Proof>;

const PROOFS: Readonly<Record<Mode, MakeProof>> = {
  /** The real provider. */
  async oidc(scene, front, tenant) {
    const idp = await scene.keep(startOidcAs());
    const [clientId, clientSecret] = ['keybearer', randomBytes(16).toString('hex')];
    const redirectUri = `${front.url}/connect/callback/${tenant.id}`;
    await idp.addClient({ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] });
    return {
      signIn: { mode: 'oidc', issuer: idp.issuer, clientId, clientSecret },
      comesBackTo: '/connect/callback/',
      async prove(person, name) {
        await person.fill('Name', name);
        await person.press('Sign in');
        await person.press('Allow');
      },
    };
  },
  async handoff(scene) {
    const product = await scene.keep(startTenantProduct(scene.app.url));
    return {
      signIn: { mode: 'handoff', verifyUrl: product.verifyUrl, key: product.key },
      comesBackTo: '/connect/return',
      async prove(person, name) {
        await person.fill('Name', name);
        await person.press('Sign in');
      },
    };
  },
  link: () => Promise.resolve({ signIn: { mode: 'link' }, comesBackTo: '/nowhere', prove: () => Promise.resolve() }),
};
