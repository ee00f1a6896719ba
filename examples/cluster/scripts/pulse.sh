# Which of the gateways has taken this slot?
echo "slot $HORAE_SLOT ran on $(hostname), in $HORAE_HOME"
