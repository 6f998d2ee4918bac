// SPDX-License-Identifier: Apache-2.0
/** The methods of the node programs, by full name: Identity of CSI, and kubelet's plugin registration. */
import identityDescriptor from '../gen/identity.json' with { type: 'json' };
import registrationDescriptor from '../gen/plugin-registration.json' with { type: 'json' };
import type { Descriptor } from '../sanitizer/descriptor.ts';
import { type MethodCodecs, methodCodecs } from '../wire/method-codecs.ts';

export const leanDescriptor: Descriptor = {
  nested: { ...identityDescriptor.nested, ...registrationDescriptor.nested },
};

/** Undefined for a method that is not declared. */
export const leanCodecOf: MethodCodecs = /* @__PURE__ */ methodCodecs(leanDescriptor);
