// SPDX-License-Identifier: Apache-2.0
/** Random stories of a controller, for its author. */
export { playStories, type StoriesRange } from './play-stories.ts';
export type { Outside } from './outside.ts';
export type { Stories, StoryController, StoryTime } from './story.ts';
