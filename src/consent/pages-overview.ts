// The two pages about all servers of a person: what is still to be connected, and what is.
import type { Content } from './answer.ts';
import { type Html, html } from './html.ts';
import { csrfField, hidden, isolated, named } from './layout.ts';

export interface PersonLine {
  readonly principal: string;
  readonly tenant: string;
  readonly csrf: string;
  readonly signOut: string;
}

export interface ServerRow {
  readonly id: string;
  readonly title: string;
  readonly name: string;
  readonly place: string;
}

export interface MissingRow extends ServerRow {
  /** It was connected, and that is good for nothing any more. */
  readonly hasEnded: boolean;
}

export interface ConnectedRow extends MissingRow {
  readonly principal: string;
  /** Epoch milliseconds. */
  readonly connectedAt: number;
  readonly account: string | undefined;
}

export interface Links {
  readonly overview: string;
  readonly connections: string;
}

export function overviewPage(person: PersonLine, rows: readonly MissingRow[], links: Links): Content {
  return {
    title: 'Servers to connect',
    body: html`${
      rows.length === 0
        ? html`<p>Nothing is left to connect. Go back to your agent.</p>`
        : html`<p>Your agent can use these for you once you have connected them.</p>
<ul class="rows">${rows.map((row) => missingRow(person, row, links.overview))}</ul>`
    }
<p><a href="${links.connections}">What you have connected</a></p>
${footer(person)}`,
  };
}

export function connectionsPage(person: PersonLine, rows: readonly ConnectedRow[], links: Links): Content {
  return {
    title: 'What you have connected',
    body: html`${
      rows.length === 0
        ? html`<p>No server is connected.</p>`
        : html`<p>Your agent uses these for you. Disconnect one, and it cannot any more.</p>
<ul class="rows">${rows.map((row) => connectedRow(person, row, links.connections))}</ul>`
    }
<p><a href="${links.overview}">Servers to connect</a></p>
${footer(person)}`,
  };
}

function missingRow({ csrf }: PersonLine, row: MissingRow, action: string): Html {
  return html`<li>
<div>${named(row)}<br><span class="soft">${isolated(row.place)}${
    row.hasEnded ? html`<br>was connected, but that has ended: connect it anew` : ''
  }</span></div>
<form method="post" action="${action}">${csrfField(csrf)}${hidden('server', row.id)}<button type="submit" aria-label="Connect ${row.title}">Connect</button></form>
</li>
`;
}

function connectedRow({ csrf }: PersonLine, row: ConnectedRow, action: string): Html {
  const { hasEnded, connectedAt, account } = row;
  const since = html`${time(connectedAt)}${account === undefined ? '' : html` as ${isolated(account)}`}`;
  return html`<li>
<div>${named(row)}<br><span class="soft">${isolated(row.place)}<br>${
    hasEnded ? html`was connected ${since}, but that has ended: connect it anew` : html`since ${since}`
  }</span></div>
<form method="post" action="${action}">${csrfField(csrf)}${hidden('server', row.id)}${hidden('principal', row.principal)}<button type="submit" class="quiet" aria-label="Disconnect ${row.title}">Disconnect</button></form>
</li>
`;
}

function footer({ principal, tenant, csrf, signOut }: PersonLine): Html {
  return html`<form method="post" action="${signOut}" class="footer">${csrfField(csrf)}
<span class="soft">Signed in as ${isolated(principal)} in ${isolated(tenant)}</span>
<button type="submit" class="quiet">Sign out</button></form>`;
}

const DAY_AND_TIME = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

function time(ms: number): Html {
  const date = new Date(ms);
  return html`<time datetime="${date.toISOString()}">${DAY_AND_TIME.format(date)} UTC</time>`;
}
