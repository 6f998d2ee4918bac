// SPDX-License-Identifier: Apache-2.0
import { ownVersion } from '../../images/src/facts.ts';

/** The tag of our images of this version. */
export const tag: string = `v${ownVersion()}`;
