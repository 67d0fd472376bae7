// Sends a browser off to have its person proved, in the way its tenant asks for.
import type { Tenant } from '../identity/tenant-store.ts';
import { type Answer, type BrowserRequest, page, redirect } from './answer.ts';
import { goOn } from './going-on.ts';
import { nobodyPage } from './pages-person.ts';
import { type ProveHandoffDeps, startHandoff } from './prove-handoff.ts';
import { type ProveOidcDeps, startOidc } from './prove-oidc.ts';
import { toRefusal } from './refusal.ts';

export interface Errand {
  readonly tenant: Tenant;
  /** Where to go on afterwards; one that `pathOf` knows. */
  readonly target: string;
  readonly asAnother: boolean;
  /** A form must not be followed by a redirect to another site. */
  readonly isForm: boolean;
}

export type Prove = (request: BrowserRequest, errand: Errand) => Promise<Answer>;

export function createProve(deps: ProveOidcDeps & ProveHandoffDeps): Prove {
  return async ({ site }, { tenant, target, asAnother, isForm }) => {
    const { id: tenantId, signIn } = tenant;
    // A link proves a person by itself; without one there is nobody to ask.
    if (signIn.mode === 'link') return page(401, nobodyPage());
    try {
      const { url, cookie } =
        signIn.mode === 'oidc'
          ? await startOidc(deps, site, { tenantId, signIn, target, asAnother })
          : await startHandoff(deps, tenantId, signIn, target);
      return isForm ? goOn(url, [cookie]) : redirect(url, [cookie]);
    } catch (error) {
      return toRefusal(error);
    }
  };
}
