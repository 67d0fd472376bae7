// Port: which addresses a definition may name. The address guard fills it (upstream/egress).

/** What is wrong with sending requests to this URL, to follow its member's name; undefined when nothing is. */
export type AddressRule = (url: string) => string | undefined;
