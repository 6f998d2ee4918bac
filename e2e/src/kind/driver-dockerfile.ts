// SPDX-License-Identifier: Apache-2.0
import { readPins } from '@csi-sidecars/images';

/** The test driver on an image that has mount, cp and a shell: for volumes that are folders nothing more is needed. */
export function driverDockerfile(): string {
  const { node, debian } = readPins();
  return [
    `FROM node:${node.version}-${debian.release}-slim`,
    'COPY test-driver.mjs relay.mjs /',
    'ENTRYPOINT ["node", "/test-driver.mjs"]',
    '',
  ].join('\n');
}
