// SPDX-License-Identifier: Apache-2.0
/** The messages of the service that csi-snapshot-metadata offers to backup software. */
import { methodCodecs, type MethodCodecs } from '@csi-sidecars/grpc';
import schema from '../gen/snapshot-metadata.json' with { type: 'json' };
import type { PublicMetadataMethods } from '../gen/snapshot-metadata.ts';

export type PublicMetadataMethod = keyof PublicMetadataMethods;
export type PublicMetadataRequest<M extends PublicMetadataMethod> = PublicMetadataMethods[M]['decodedRequest'];

export const publicMetadataCodec: MethodCodecs = /* @__PURE__ */ methodCodecs(schema);
