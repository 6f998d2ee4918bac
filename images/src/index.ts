// SPDX-License-Identifier: Apache-2.0
/** What the end-to-end suite needs: the images as they are released, and the means to write further ones for tests. */
export { buildImages, platforms, remembered, searchPath } from './build.ts';
export { nodePath } from './content/runtime-layer.ts';
export { factsOf } from './facts.ts';
export { archiveOf, gzip, layerOf, layoutOf, type Compression, type Image, type Layer } from './oci/layout.ts';
export type { TarEntry } from './oci/tar.ts';
export { imageSet } from './set.ts';
export type { DebianDeps } from './sources/debian.ts';
export { readPins, type PlatformName } from './sources/pins.ts';
