// SPDX-License-Identifier: Apache-2.0
/**
 * The channel of the programs that run on every node. Connection, limits, log and metrics are the same as for every channel; the gRPC
 * below it is our own, which costs a fraction of the memory: docs/adr/0006.
 */
import { createSanitizer } from '../sanitizer/sanitizer.ts';
import { nodeDescriptor } from '../node-methods.ts';
import type { CsiChannel } from './channel.ts';
import { type ConnectCsiDeps, type ConnectCsiOptions, connectThrough } from './connect-through.ts';
import { nodeDialer } from './node-dial.ts';

const sanitizer = /* @__PURE__ */ createSanitizer(nodeDescriptor);

/** Methods of other services are Unimplemented. Rejects like `connectCsi`. */
export function connectIdentity(deps: ConnectCsiDeps, options: ConnectCsiOptions): Promise<CsiChannel> {
  return connectThrough({ dial: nodeDialer(deps.clock), sanitizer }, deps, options);
}
