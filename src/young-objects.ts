// Keeps V8 from taking the objects of a call for old ones. Code whose objects have mostly outlived a collection has its
// next ones made among the old at once (pretenuring); in the quiet moments of a proxy that is so of what each socket holds
// until its next answer, and under load everything such objects point to is then kept until a full collection.
// Imported first, so that it holds for all code. See docs/adr/0022-young-objects-stay-young.md.
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--no-allocation-site-pretenuring');
