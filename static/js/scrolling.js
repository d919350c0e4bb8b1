// The page follows the text that grows, until its reader leaves the end.
import { find, isTouch, lastExchange, on, scroller } from "./page.js";

const NEAR_PX = 64;

let isFollowing = !location.hash && !find("#empty");
let lastTop = 0;

const gapBelow = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;

/** Go to the end if the reader was there, else offer to. */
export const follow = () => {
  if (isFollowing) scroller.scrollTop = scroller.scrollHeight;
  lastTop = scroller.scrollTop;
  find("#latest").hidden = gapBelow() < NEAR_PX || !lastExchange();
};

/** Follow from the next change on. */
export const startFollowing = () => { isFollowing = true; };

/** Before text is added: leave readers alone who are away from the end. */
export const releaseReader = () => {
  if (gapBelow() >= NEAR_PX) isFollowing = false;
};

on(scroller, "scroll", () => {
  const isUpwards = scroller.scrollTop < lastTop;
  // One pixel is rounding; downwards, near the end is the end.
  if (isUpwards ? gapBelow() > 1 : gapBelow() < NEAR_PX) isFollowing = !isUpwards;
  follow();
});
on("#latest", "click", () => {
  startFollowing();
  follow();
  if (!isTouch) find("#question").focus(); // on touch that would open the keyboard
});
new ResizeObserver(follow).observe(scroller);
