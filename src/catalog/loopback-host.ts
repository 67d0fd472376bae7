// Which host names mean this machine: only there may a link alone say who somebody is.

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

export const isLoopbackHost = (hostname: string): boolean => LOOPBACK.test(hostname.toLowerCase());
