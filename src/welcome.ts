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

export function welcomeText({ publicUrl, adminKeyFile, adminKey, agentKey }: Welcome): string {
  const ready = `Keybearer is ready at ${publicUrl}/mcp\n`;
  const kept = adminKeyFile === undefined ? '' : `   (also in ${adminKeyFile})`;
  if (agentKey === undefined) return adminKeyFile === undefined ? ready : `${ready}The admin key is in ${adminKeyFile}\n`;
  return `${ready}
These keys are shown only now.

  Admin key   ${adminKey}${kept}
  Agent key   ${agentKey}   (tenant "default"; acts for whoever Keybearer-Principal names)

1. Register a server (this one needs no key of its own):

  curl -X PUT ${publicUrl}/admin/v1/tenants/default/servers/docs \\
    -H 'Authorization: Bearer ${adminKey}' -H 'Content-Type: application/json' \\
    -d '{ "url": "https://mcp.example.com/mcp" }'

2. Connect an agent:

  claude mcp add --transport http keybearer ${publicUrl}/mcp \\
    --header "Authorization: Bearer ${agentKey}" --header "Keybearer-Principal: alice"

  or, in any client's mcpServers:

  ${JSON.stringify({ mcpServers: { keybearer: { type: 'http', url: `${publicUrl}/mcp`, headers: { Authorization: `Bearer ${agentKey}`, 'Keybearer-Principal': 'alice' } } } })}

Commands (stdio servers) are registered in a file: KEYBEARER_CONFIG=servers.json npm start
`;
}
