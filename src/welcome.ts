// What a start says on a terminal: where it listens, and once, on the very first start, the keys and
// something to paste.

export interface Welcome {
  readonly publicUrl: string;
  /** Undefined when the operator brought the key. */
  readonly adminKeyFile: string | undefined;
  readonly adminKey: string;
  /** Undefined on every start but the first. */
  readonly agentKey: string | undefined;
}

/** Where one listens on all addresses, no request can go. */
const EVERYWHERE = /^(http:\/\/)(?:0\.0\.0\.0|\[::\])(?=[:/]|$)/;
const OTHER_NAMES =
  'It listens on all addresses. Others reach it by that of KEYBEARER_PUBLIC_URL, which sign-in links begin with too, or by a host of KEYBEARER_ALLOWED_HOSTS.\n';

export function welcomeText({ publicUrl: configured, adminKeyFile, adminKey, agentKey }: Welcome): string {
  const publicUrl = configured.replace(EVERYWHERE, '$1127.0.0.1');
  const ready = `Keybearer is ready at ${publicUrl}/mcp\n${publicUrl === configured ? '' : OTHER_NAMES}`;
  const kept = adminKeyFile === undefined ? '' : `   (also in ${adminKeyFile})`;
  if (agentKey === undefined)
    return adminKeyFile === undefined
      ? ready
      : `${ready}The admin key is in ${adminKeyFile}; another agent key: POST ${publicUrl}/admin/v1/tenants/default/keys\n`;
  return `${ready}
These keys are shown only now.

  Admin key   ${adminKey}${kept}
  Agent key   ${agentKey}   (tenant "default"; acts for whoever Keybearer-Principal names)

1. Register a server, any that you have (each person signs in to this one in a browser):

  curl -X PUT ${publicUrl}/admin/v1/tenants/default/servers/linear \\
    -H 'Authorization: Bearer ${adminKey}' -H 'Content-Type: application/json' \\
    -d '{ "url": "https://mcp.linear.app/mcp", "credential": { "kind": "oauth" } }'

   or a command, in a file like the mcpServers you have: KEYBEARER_CONFIG=servers.json npm start

2. Connect an agent:

  claude mcp add --transport http keybearer ${publicUrl}/mcp \\
    --header "Authorization: Bearer ${agentKey}" --header "Keybearer-Principal: alice"

  or, in any client's mcpServers:

  ${JSON.stringify({ mcpServers: { keybearer: { type: 'http', url: `${publicUrl}/mcp`, headers: { Authorization: `Bearer ${agentKey}`, 'Keybearer-Principal': 'alice' } } } })}
`;
}
