#!/bin/sh
# Says that unattended work really runs here, and how late it was: what is printed is the run's message.
echo "alive on $(uname -n), slot $HORAE_SLOT, started ${HORAE_LATENESS_S} s late"
