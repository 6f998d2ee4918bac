// SPDX-License-Identifier: Apache-2.0
/** The methods of the programs that run on every node: CSI's Identity service, and kubelet's plugin registration. */
import { type Descriptor, type MethodCodecs, methodCodecs } from '@csi-sidecars/grpc';
import identityDescriptor from './gen/identity.json' with { type: 'json' };
import registrationDescriptor from './gen/plugin-registration.json' with { type: 'json' };

export const nodeDescriptor: Descriptor = {
  nested: { ...identityDescriptor.nested, ...registrationDescriptor.nested },
};

/** Undefined for a method that is not declared. */
export const nodeCodecOf: MethodCodecs = /* @__PURE__ */ methodCodecs(nodeDescriptor);
